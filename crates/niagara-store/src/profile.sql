-- Where a variant's time went: of `niagara profile`, and what sweeps and tunings profile at their ends. Results of older
-- programs have no such table; it is made when they are continued.
CREATE TABLE IF NOT EXISTS profile (
    position INTEGER PRIMARY KEY,   -- order in which they were taken
    subject  TEXT    NOT NULL UNIQUE, -- what was profiled, in words
    content  TEXT    NOT NULL       -- JSON, stacks included
) STRICT;
