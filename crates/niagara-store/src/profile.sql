-- Where a variant's time went: of `niagara profile`, and what sweeps and tunings profile at their ends. Results of older
-- programs have no such table; it is made when they are continued.
CREATE TABLE IF NOT EXISTS profile (
    position INTEGER PRIMARY KEY,   -- order in which they were taken
    subject  TEXT    NOT NULL UNIQUE, -- what was profiled, in words
    content  TEXT    NOT NULL       -- JSON, stacks included
) STRICT;

-- What replays of a capture did on the sides of duels, kept just before the duel itself.
CREATE TABLE IF NOT EXISTS replay (
    duel    INTEGER NOT NULL,
    side    INTEGER NOT NULL CHECK (side IN (0, 1)),
    content TEXT    NOT NULL,       -- JSON
    PRIMARY KEY (duel, side)
) STRICT, WITHOUT ROWID;
