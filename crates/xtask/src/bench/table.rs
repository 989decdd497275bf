//! Plain-text tables.

/// Aligns the first two columns left and figures right.
pub fn format_table(head: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        std::iter::once(head.iter().map(|&cell| cell.to_owned()).collect()).chain(rows.iter().cloned()).collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |(column, cell): (usize, &String)| {
        let width = widths.get(column).copied().unwrap_or(0);
        if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    };
    let line =
        |row: &Vec<String>| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned();
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
