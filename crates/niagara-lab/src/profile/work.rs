//! What a server did while a view was taken of it: what its figures are divided by.

/// Work of a server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    /// Queries answered while the view was on; none where nobody counted them.
    pub queries: Option<f64>,
    /// CPU time of the server per query while nothing was observed, in microseconds.
    pub cpu_us_per_query: Option<f64>,
}

/// So much, by the query; none where no query is known of.
pub(super) fn per_query(amount: f64, queries: Option<f64>) -> Option<f64> {
    let queries = queries.filter(|queries| *queries > 0.0);
    queries.map(|queries| amount / queries)
}
