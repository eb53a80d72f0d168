//! What the window changes: settings, targets and their secrets; and a sample to try one with.

use super::config::{self, Destination, Document, MAX_TARGETS, Target};
use super::message::{Message, Sample, What};
use super::meter::Meter;
use super::post::{Again, Undelivered};
use super::secrets::MAX_SECRET;
use super::wrong::ForwardWrong;
use super::{Forward, ForwardError, Reaches, UNCONNECTED, sample};
use countersign_protocol::ui::{
    ForwardPlace, ForwardSettings, ForwardTargetEdit, SampleResult, SecretEdit, WebhookAuth,
};
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

impl Forward {
    /// Takes other settings.
    pub async fn set(&self, settings: ForwardSettings) -> Result<(), ForwardError> {
        let _one = self.inner.changing.lock().await;
        let mut document = self.draft()?;
        document.set(settings)?;
        self.store(document).await
    }

    /// Adds or changes a target. Whatever waits for its older state is forgotten.
    pub async fn save(&self, edit: ForwardTargetEdit) -> Result<(), ForwardError> {
        let _one = self.inner.changing.lock().await;
        let mut document = self.draft()?;
        let at = match &edit.id {
            Some(id) => {
                Some(document.targets.iter().position(|target| target.id == *id).ok_or(ForwardError::Gone)?)
            }
            None if document.targets.len() >= MAX_TARGETS => {
                return Err(ForwardWrong::Many.into());
            }
            None => None,
        };
        let old = at.and_then(|at| document.targets.get(at)).cloned();
        let wants_secret =
            matches!(&edit.place, ForwardPlace::Webhook { auth, .. } if *auth != WebhookAuth::None);
        let fresh = match &edit.secret {
            SecretEdit::Set { value } if wants_secret => Some(checked_secret(value)?),
            SecretEdit::OpenClaw => {
                return Err(ForwardWrong::OpenClaws.into());
            }
            SecretEdit::Clear | SecretEdit::Set { .. } => None,
            SecretEdit::Keep => {
                // A secret that was given for one place must not be sent to another one unasked.
                let stays = old.as_ref().is_none_or(|old| is_same_place(&old.place, &edit.place));
                if wants_secret && !stays {
                    return Err(ForwardWrong::SecretAgain.into());
                }
                None
            }
        };
        let kept = old.as_ref().is_some_and(|old| old.has_secret) && matches!(edit.secret, SecretEdit::Keep);
        let target = Target {
            id: old.map_or_else(|| self.inner.ports.ids.uuid(), |old| old.id),
            name: edit.name.trim().to_owned(),
            enabled: edit.enabled,
            place: trimmed(edit.place),
            has_secret: wants_secret && (fresh.is_some() || kept),
        };
        let place = target.checked()?;
        let (secrets, id, has_secret) = (self.inner.secrets.clone(), target.id.clone(), target.has_secret);
        let secret = blocking(move || {
            if let Destination::Command(program) = &place {
                program.check_file().map_err(ForwardWrong::Program)?;
            }
            match fresh {
                Some(secret) => secrets.keep(&id, &secret)?,
                None if !has_secret => secrets.clear(&id)?,
                None => {}
            }
            Ok(secrets.read(&id)?)
        })
        .await?;
        match at.and_then(|at| document.targets.get_mut(at)) {
            Some(stored) => *stored = target.clone(),
            None => document.targets.push(target.clone()),
        }
        self.store(document).await?;
        self.stop_target(&target.id);
        self.run(&target, secret);
        self.inner.changed.send_replace(());
        Ok(())
    }

    /// Forgets a target and its secret.
    pub async fn remove(&self, id: &str) -> Result<(), ForwardError> {
        let _one = self.inner.changing.lock().await;
        let mut document = self.draft()?;
        let before = document.targets.len();
        document.targets.retain(|target| target.id != id);
        if document.targets.len() == before {
            return Err(ForwardError::Gone);
        }
        self.store(document).await?;
        self.stop_target(id);
        let (secrets, id) = (self.inner.secrets.clone(), id.to_owned());
        blocking(move || Ok(secrets.clear(&id)?)).await?;
        self.inner.changed.send_replace(());
        Ok(())
    }

    /// Sends a sample to a target, once and past its queue, whether or not it is turned on.
    pub async fn sample(&self, id: &str) -> Result<SampleResult, ForwardError> {
        let target = {
            let live = self.live();
            let found = live.document.targets.iter().find(|target| target.id == id).cloned();
            found.ok_or(ForwardError::Gone)?
        };
        let place = target.checked()?;
        let (secrets, secret_of) = (self.inner.secrets.clone(), target.id.clone());
        let secret = blocking(move || Ok(secrets.read(&secret_of)?)).await?;
        let ports = &self.inner.ports;
        let record = sample::record(ports);
        let started = tokio::time::Instant::now();
        let meter = Meter::new(target.id.clone(), Arc::clone(&ports.clock), watch::Sender::new(()));
        let sent = match self.receiver(place, secret) {
            Reaches::Post(receiver) => {
                let now_ms = ports.clock.now_ms();
                let message = Message::new(&record, What::Requested, ports.ids.uuid(), now_ms, Sample::Yes);
                receiver.tell(&message, &*ports.clock).await
            }
            Reaches::Gateway { gateway, may_allow } => {
                match self.asker(&target, gateway, may_allow, meter, &CancellationToken::new()) {
                    Some(asker) => asker.sample(&record).await.map(|_| ()),
                    None => Err(Undelivered::new(UNCONNECTED.to_owned(), Again::No)),
                }
            }
        };
        Ok(match sent {
            Ok(()) => SampleResult::Delivered {
                ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            },
            Err(undelivered) => SampleResult::Failed { text: undelivered.text },
        })
    }

    fn draft(&self) -> Result<Document, ForwardError> {
        let live = self.live();
        match &live.broken {
            Some(broken) => Err(ForwardError::Broken(broken.clone())),
            None => Ok(live.document.clone()),
        }
    }

    async fn store(&self, document: Document) -> Result<(), ForwardError> {
        let (file, stored) = (self.inner.file.clone(), document.clone());
        blocking(move || Ok(config::write(&file, &stored)?)).await?;
        self.adopt(document);
        self.inner.changed.send_replace(());
        Ok(())
    }
}

/// As it is stored.
fn trimmed(place: ForwardPlace) -> ForwardPlace {
    match place {
        ForwardPlace::Webhook { url, pin, auth } => ForwardPlace::Webhook {
            url: url.trim().to_owned(),
            pin: pin.map(|pin| pin.trim().to_owned()).filter(|pin| !pin.is_empty()),
            auth,
        },
        // An argument may be blank or have blanks around it.
        other => other,
    }
}

/// Whether a secret for the one place may be used for the other.
fn is_same_place(one: &ForwardPlace, other: &ForwardPlace) -> bool {
    trimmed(one.clone()) == trimmed(other.clone())
}

fn checked_secret(value: &str) -> Result<Zeroizing<String>, ForwardWrong> {
    let value = value.trim();
    let fits = u64::try_from(value.len()).is_ok_and(|length| length <= MAX_SECRET);
    if value.is_empty() || !fits || !value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return Err(ForwardWrong::Secret);
    }
    Ok(Zeroizing::new(value.to_owned()))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ForwardError> + Send + 'static,
) -> Result<T, ForwardError> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?
}
