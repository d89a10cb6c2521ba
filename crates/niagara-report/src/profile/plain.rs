//! A profile as text for the terminal, and as Markdown.

use niagara_profile::Profile;

use super::Section;
use super::content::{headline, sections};

/// For the terminal: the headline and the tables that are short.
pub fn profile_text(profiles: &[Profile]) -> String {
    let mut text = format!("{}\n", headline(profiles));
    for profile in profiles {
        text += &format!(
            "{}: {} · {}\n",
            profile.variant, profile.server_version, profile.workload
        );
    }
    for section in sections(profiles).iter().filter(|section| !section.long) {
        text += &format!("\n{}\n", section.title);
        // What helps is said at length in the report.
        let columns = if section.words == 2 {
            section.columns.len() - 2
        } else {
            section.columns.len()
        };
        let mut rows: Vec<Vec<&str>> = Vec::new();
        if !section.rows.is_empty() {
            rows.push(
                section
                    .columns
                    .iter()
                    .take(columns)
                    .map(String::as_str)
                    .collect(),
            );
        }
        for row in &section.rows {
            rows.push(row.iter().take(columns).map(String::as_str).collect());
        }
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &rows {
            let mut line = String::from(" ");
            for (index, cell) in row.iter().enumerate() {
                let gap = " ".repeat(widths[index].saturating_sub(cell.chars().count()));
                line += &if index == 0 {
                    format!(" {cell}{gap}")
                } else {
                    format!("  {gap}{cell}")
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        for note in &section.notes {
            text += &format!("  {note}\n");
        }
    }
    text
}

/// As Markdown: for issues, wikis, merge requests.
pub fn profile_markdown(profiles: &[Profile], command: &str) -> String {
    let mut page = format!("# {}\n\n", escaped(&headline(profiles)));
    for profile in profiles {
        page += &format!(
            "{} · {} · {}\n\n",
            escaped(&profile.variant),
            escaped(&profile.server_version),
            escaped(&profile.workload)
        );
    }
    for section in sections(profiles) {
        markdown(&mut page, &section);
    }
    page += &format!("## To repeat it\n\n```\n{command}\n```\n");
    page
}

/// Adds a section to a page in Markdown.
pub(crate) fn markdown(page: &mut String, section: &Section) {
    *page += &format!("## {}\n\n", section.title);
    if !section.intro.is_empty() {
        *page += &format!("{}\n\n", escaped(&section.intro));
    }
    if !section.rows.is_empty() {
        let numbers = section.columns.len() - section.words;
        let rule = |index: usize| {
            if index == 0 || index >= numbers {
                "---"
            } else {
                "---:"
            }
        };
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        *page += &row(&section.columns);
        let rules: Vec<&str> = (0..section.columns.len()).map(rule).collect();
        *page += &format!("| {} |\n", rules.join(" | "));
        for cells in &section.rows {
            *page += &row(cells);
        }
        page.push('\n');
    }
    for note in &section.notes {
        *page += &format!("- {}\n", escaped(note));
    }
    if !section.notes.is_empty() {
        page.push('\n');
    }
}

/// Text that Markdown leaves as it is.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '<' | '>' | '`' | '[' | ']' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("<br>"),
            c => out.push(c),
        }
    }
    out
}
