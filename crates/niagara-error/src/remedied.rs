//! Types of errors that know their own remedies.

use std::error::Error;

use crate::Explanation;

/// One type of errors that knows its own remedies; [`remedied!`](crate::remedied) registers it.
pub struct Registration(#[doc(hidden)] pub fn(&(dyn Error + 'static)) -> Option<Explanation>);

inventory::collect!(Registration);

/// Registers a type of errors: `remedied!(LoadError, LoadError::explanation)`. Wherever one of it is in a chain, the
/// chain's explanation has the remedies that the function gives.
#[macro_export]
macro_rules! remedied {
    ($error:ty, $explanation:expr) => {
        $crate::private::inventory::submit! {
            $crate::private::Registration(|error| error.downcast_ref::<$error>().map($explanation))
        }
    };
}

/// What an error of a registered type says of itself.
pub(crate) fn own_explanation(error: &(dyn Error + 'static)) -> Option<Explanation> {
    inventory::iter::<Registration>()
        .into_iter()
        .find_map(|Registration(explained)| explained(error))
}
