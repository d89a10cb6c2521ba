//! Hadamard matrices: square, of ±1, every two columns (and rows) orthogonal.
//!
//! Paley's two constructions (*J. Mathematics and Physics* 12, 1933), over fields of p and p² elements, and Sylvester's
//! doubling: every order to 88, and most beyond.

/// A Hadamard matrix of this order, by rows; `None` for orders that are no multiple of 4 (but 1 and 2), and for those
/// the constructions here do not reach (92 is the first).
pub(crate) fn hadamard(order: usize) -> Option<Vec<Vec<i8>>> {
    match order {
        1 => Some(vec![vec![1]]),
        2 => Some(vec![vec![1, 1], vec![1, -1]]),
        _ if order == 0 || !order.is_multiple_of(4) => None,
        // Doubled last: its columns' products are columns again, so that levers that interact would mimic others.
        _ => paley_one(order)
            .or_else(|| paley_two(order))
            .or_else(|| hadamard(order / 2).map(|half| doubled(&half))),
    }
}

fn doubled(half: &[Vec<i8>]) -> Vec<Vec<i8>> {
    let beside = |sign: i8| {
        half.iter().map(move |row| {
            let negated = row.iter().map(|x| x * sign);
            row.iter().copied().chain(negated).collect()
        })
    };
    beside(1).chain(beside(-1)).collect()
}

/// Order q + 1, q = 3 mod 4: I + S, S the skew conference matrix of q.
fn paley_one(order: usize) -> Option<Vec<Vec<i8>>> {
    let field = Field::of(order - 1).filter(|field| field.size() % 4 == 3)?;
    let mut matrix = conference(&field);
    for (i, row) in matrix.iter_mut().enumerate() {
        if i > 0 {
            row[0] = -1;
        }
        row[i] = 1;
    }
    Some(matrix)
}

/// Order 2(q + 1), q = 1 mod 4: every entry of the symmetric conference matrix becomes a block of two by two.
fn paley_two(order: usize) -> Option<Vec<Vec<i8>>> {
    let field = Field::of(order / 2 - 1).filter(|field| field.size() % 4 == 1)?;
    let small = conference(&field);
    let entry = |i: usize, j: usize| {
        let block = if i / 2 == j / 2 {
            [[1, -1], [-1, -1]]
        } else {
            let c = small[i / 2][j / 2];
            [[c, c], [c, -c]]
        };
        block[i % 2][j % 2]
    };
    Some(
        (0..order)
            .map(|i| (0..order).map(|j| entry(i, j)).collect())
            .collect(),
    )
}

/// 0 on the diagonal, 1 along the first row and column, χ(i − j) elsewhere.
fn conference(field: &Field) -> Vec<Vec<i8>> {
    let size = field.size() + 1;
    let entry = |i: usize, j: usize| match (i, j) {
        _ if i == j => 0,
        (0, _) | (_, 0) => 1,
        _ => field.character(i - 1, j - 1),
    };
    (0..size)
        .map(|i| (0..size).map(|j| entry(i, j)).collect())
        .collect()
}

/// A field of p or p² elements, p an odd prime; elements are numbered from 0, x + y·√r as x·p + y.
enum Field {
    Prime {
        p: usize,
    },
    /// √r is what is adjoined: r is not a square modulo p.
    Square {
        p: usize,
        r: usize,
    },
}

impl Field {
    fn of(size: usize) -> Option<Self> {
        if is_odd_prime(size) {
            return Some(Field::Prime { p: size });
        }
        let p = size.isqrt();
        if p * p != size || !is_odd_prime(p) {
            return None;
        }
        let r = (2..p).find(|r| legendre(*r, p) == -1)?;
        Some(Field::Square { p, r })
    }

    fn size(&self) -> usize {
        match *self {
            Field::Prime { p } => p,
            Field::Square { p, .. } => p * p,
        }
    }

    /// Whether a − b is a square: 1 if so, −1 if not, 0 for a = b.
    fn character(&self, a: usize, b: usize) -> i8 {
        match *self {
            Field::Prime { p } => legendre(p + a - b, p),
            Field::Square { p, r } => {
                let x = p + a / p - b / p;
                let y = p + a % p - b % p;
                // χ(z) = χ_p(z^(p+1)), and z^(p+1) is the norm x² − r·y².
                let norm = x * x + (p - r) * (y * y);
                legendre(norm, p)
            }
        }
    }
}

fn is_odd_prime(n: usize) -> bool {
    n > 2 && (2..=n.isqrt()).all(|d| !n.is_multiple_of(d))
}

/// Whether x is a square modulo the odd prime p: 1 if so, −1 if not, 0 for x = 0.
fn legendre(x: usize, p: usize) -> i8 {
    let x = x % p;
    if x == 0 {
        return 0;
    }
    if (1..=p / 2).any(|root| root * root % p == x) {
        1
    } else {
        -1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_to_88_exists_and_is_orthogonal() {
        for order in [1, 2].into_iter().chain((4..=88).step_by(4)) {
            let matrix = hadamard(order).unwrap_or_else(|| panic!("no matrix of order {order}"));
            assert_eq!(matrix.len(), order);
            for i in 0..order {
                assert!(matrix[i].iter().all(|x| x.abs() == 1));
                for j in 0..order {
                    let by_rows: i32 = (0..order)
                        .map(|k| i32::from(matrix[i][k] * matrix[j][k]))
                        .sum();
                    let by_columns: i32 = (0..order)
                        .map(|k| i32::from(matrix[k][i] * matrix[k][j]))
                        .sum();
                    let expected = if i == j { order as i32 } else { 0 };
                    assert_eq!((by_rows, by_columns), (expected, expected), "{order}");
                }
            }
        }
    }

    #[test]
    fn other_orders_are_refused() {
        for order in [0, 3, 5, 6, 10, 30, 92] {
            assert_eq!(hadamard(order), None);
        }
    }
}
