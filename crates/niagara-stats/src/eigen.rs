//! Eigenvalues and eigenvectors of a small symmetric matrix.

/// `a` = V·diag(values)·Vᵀ, by Jacobi's rotations (Golub & Van Loan, *Matrix Computations*, 4th ed., section 8.5).
/// Returns the values and V, whose column k belongs to value k.
pub(crate) fn symmetric(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let mut v: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    let total: f64 = a.iter().flatten().map(|x| x * x).sum();
    // Convergence is quadratic: ten sweeps are plenty, fifty are a bound.
    for _ in 0..50 {
        let off: f64 = (0..n)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| a[i][j] * a[i][j])
            .sum();
        if off <= 1e-28 * total {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, p, q);
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), v)
}

/// Makes a[p][q] zero.
fn rotate(a: &mut [Vec<f64>], v: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let tau = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = 1.0f64.copysign(tau) / (tau.abs() + tau.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    for row in a.iter_mut() {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
    let (upper, lower) = a.split_at_mut(q);
    for (x, y) in upper[p].iter_mut().zip(&mut lower[0]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
    for row in v.iter_mut() {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigen_decomposition_reconstructs_the_matrix() {
        let n = 12;
        let a: Vec<Vec<f64>> = (0..n)
            .map(|i| (0..n).map(|j| ((i * j + i + j) % 7) as f64).collect())
            .collect();
        let (values, v) = symmetric(a.clone());
        for i in 0..n {
            for j in 0..n {
                let again: f64 = (0..n).map(|k| v[i][k] * values[k] * v[j][k]).sum();
                assert!((again - a[i][j]).abs() < 1e-10);
            }
        }
    }
}
