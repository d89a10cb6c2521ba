//! Columns of a design beside others: projections by Gram and Schmidt.

/// Adds a column's own direction to an orthonormal basis; nothing when it has none.
pub fn extend(basis: &mut Vec<Vec<f64>>, column: Vec<f64>) {
    let whole = squares(&column);
    let mut own = beside(basis, column);
    let length = squares(&own).sqrt();
    if length > 1e-6 * whole.sqrt().max(1.0) {
        own.iter_mut().for_each(|x| *x /= length);
        basis.push(own);
    }
}

/// What of a column the basis does not explain.
pub fn beside(basis: &[Vec<f64>], mut column: Vec<f64>) -> Vec<f64> {
    // Gram and Schmidt, twice for the rounding.
    for _ in 0..2 {
        for known in basis {
            let along = dot(known, &column);
            for (x, y) in column.iter_mut().zip(known) {
                *x -= along * y;
            }
        }
    }
    column
}

/// Scalar product.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Sum of squares.
pub fn squares(x: &[f64]) -> f64 {
    dot(x, x)
}
