//! The end that drives the connections.

use super::frame;
use super::message::{Answer, Greeting, Request};
use crate::engine::driver::Driver;
use crate::error::LoadError;
use crate::job::run_job;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Bound on reaching the other end's address.
const KNOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Greets on `output`, then does what is asked on `input` until that ends. `gone` is called at once when it does, from
/// another thread: whoever asked is no longer there, and a run may be under way.
///
/// # Errors
/// A stream failed, or holds something else than messages.
pub fn serve(
    input: impl Read + Send + 'static,
    mut output: impl Write,
    greeting: &Greeting,
    gone: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    frame::write(&mut output, &Answer::Hello(greeting.clone()))?;
    let (sender, requests) = mpsc::channel();
    std::thread::Builder::new()
        .name("requests".into())
        .spawn(move || listen(input, &sender, gone))?;
    let mut driver = None;
    for request in requests {
        let (request, cancel) = request?;
        let answer = answer(request, &cancel, &mut driver, &mut output);
        frame::write(&mut output, &answer)?;
    }
    Ok(())
}

/// A request, and the flag that cancels it.
type Asked = (Request, Arc<AtomicBool>);

/// Passes requests on as they come; a cancel does not wait for its turn.
fn listen(mut input: impl Read, requests: &mpsc::Sender<io::Result<Asked>>, gone: impl FnOnce()) {
    let mut cancel = Arc::<AtomicBool>::default();
    loop {
        match frame::read(&mut input) {
            Ok(Some(Request::Cancel)) => cancel.store(true, Ordering::Relaxed),
            Ok(Some(mut request)) => {
                match &mut request {
                    // What runs on these connections is cancelled by the flag they were made with.
                    Request::Connect { options, .. } => cancel = Arc::clone(&options.cancel),
                    Request::Job { .. } => cancel = Arc::default(),
                    _ => {}
                }
                if requests.send(Ok((request, Arc::clone(&cancel)))).is_err() {
                    return;
                }
            }
            ended => {
                if let Err(error) = ended {
                    // The other end may be waiting for the one who reads this.
                    let _ = requests.send(Err(io::Error::other(error)));
                }
                cancel.store(true, Ordering::Relaxed);
                return gone();
            }
        }
    }
}

fn answer(
    request: Request,
    cancel: &AtomicBool,
    driver: &mut Option<Driver>,
    output: &mut impl Write,
) -> Answer {
    let done = match request {
        Request::Knock { address, token } => knock(address, &token).map(|()| Answer::Done),
        Request::Connect {
            endpoints,
            spec,
            options,
        } => {
            // The old ones end first: they may be all that a server takes.
            drop(driver.take());
            Driver::connect(&endpoints, &spec, &options).map(|connected| {
                *driver = Some(connected);
                Answer::Done
            })
        }
        Request::Run { side, options } => match driver {
            Some(driver) => driver
                .run(side, &options, &mut |interval| {
                    frame::write(output, &Answer::Interval(Box::new(interval.clone()))).is_ok()
                })
                .map(|stats| Answer::Ran(Box::new(stats))),
            None => Err(LoadError::invalid("there is no server to load")),
        },
        Request::Job { endpoint, spec } => {
            run_job(&endpoint, &spec, cancel, &mut |name, number, of| {
                // An output that takes nothing does not take the answer either: that ends the agent.
                let _ = frame::write(
                    output,
                    &Answer::Step {
                        name: name.into(),
                        number,
                        of,
                    },
                );
            })
            .map(Answer::Worked)
        }
        Request::Disconnect | Request::Cancel => {
            drop(driver.take());
            Ok(Answer::Done)
        }
    };
    done.unwrap_or_else(Answer::Failed)
}

fn knock(address: SocketAddr, token: &str) -> Result<(), LoadError> {
    TcpStream::connect_timeout(&address, KNOCK_TIMEOUT)
        .and_then(|mut stream| stream.write_all(token.as_bytes()))
        .map_err(|error| LoadError::Client(error.to_string()))
}
