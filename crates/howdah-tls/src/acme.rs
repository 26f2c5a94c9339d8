//! Certificates by ACME, RFC 8555: one order for one name.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use howdah_config::model::Acme;
use instant_acme::{
    Account, AuthorizationStatus, CertificateIdentifier, ChallengeType, ExternalAccountKey,
    Identifier, Key, NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::CryptoProvider;

use crate::account::{Credentials, StoredAccount};
use crate::authority_client::{AuthorityClient, ClientError};
use crate::certificate::{Certificate, CertificateError};
use crate::challenge::{Challenges, PublishedProof};
use crate::failures::Failures;
use crate::remote::is_unavailable;
use crate::storage::Storage;
use crate::stored_certificate::{IssuedCertificate, StoredCertificate};
use crate::{TlsError, authority_client, layout, lock, schedule};

/// ACME directory of the default authority.
const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// Timeout of a whole order; an authority that takes longer counts as unreachable.
const ORDER_TIMEOUT: Duration = Duration::from_secs(300);
const POLL: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(500))
    .backoff(1.5)
    .timeout(Duration::from_secs(90));

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AcmeError {
    #[error("{0}")]
    Protocol(#[from] instant_acme::Error),
    #[error("{0}")]
    Roots(#[from] TlsError),
    #[error("the authority could not check the name: {0}")]
    Refused(String),
    #[error(
        "the authority offers no supported challenge: http-01 needs a site on the HTTP port, tls-alpn-01 one on the \
        HTTPS port"
    )]
    NoChallenge,
    #[error("the authority did not finish within {} s", ORDER_TIMEOUT.as_secs())]
    Timeout,
    #[error("another server took over the order")]
    LockLost,
    #[error("the MAC key of the account binding is not base64url")]
    MacKey,
    #[error("the storage: {0}")]
    Storage(#[from] io::Error),
    #[error("the request for a certificate cannot be made: {0}")]
    Request(#[from] rcgen::Error),
    #[error("the issued certificate is unusable: {0}")]
    Issued(#[from] CertificateError),
}

impl AcmeError {
    /// The authority's `Retry-After`; `None`: it sent none.
    pub(crate) fn wait(&self) -> Option<Duration> {
        if let Some(ClientError::Later { after, .. }) = self.client() {
            return Some((*after).clamp(schedule::RATE_LIMITED_MIN, schedule::RATE_LIMITED_MAX));
        }
        let limited = self
            .problem_type()
            .is_some_and(|kind| kind.ends_with(":rateLimited"));
        limited.then_some(schedule::RATE_LIMITED_MIN)
    }

    fn client(&self) -> Option<&ClientError> {
        match self {
            Self::Protocol(instant_acme::Error::Other(error)) => error.downcast_ref(),
            _ => None,
        }
    }

    /// The storage did not respond, so no request was sent.
    pub(crate) fn is_storage_away(&self) -> bool {
        matches!(self, Self::Storage(error) if is_unavailable(error))
    }

    fn is_unknown_account(&self) -> bool {
        self.problem_type()
            .is_some_and(|kind| kind.ends_with(":accountDoesNotExist"))
    }

    fn problem_type(&self) -> Option<&str> {
        match self {
            Self::Protocol(instant_acme::Error::Api(problem)) => problem.r#type.as_deref(),
            _ => None,
        }
    }
}

/// What proves control of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    Http,
    TlsAlpn,
}

/// One name at one authority.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) host: String,
    pub(crate) acme: Acme,
    pub(crate) storage: Storage,
    pub(crate) challenges: Challenges,
    pub(crate) provider: Arc<CryptoProvider>,
    /// The challenges that this server can answer. Not empty, otherwise no challenge is possible.
    pub(crate) proofs: Vec<Proof>,
}

/// When its authority suggests to renew a certificate.
pub(crate) struct Advice {
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
    /// When to request the suggestion again.
    pub(crate) ask_again: Duration,
}

impl Subject {
    /// The authority's directory.
    pub(crate) fn url(&self) -> &str {
        url(&self.acme)
    }

    /// The previously issued certificate, if it is complete.
    pub(crate) fn stored(&self) -> Option<Certificate> {
        self.storage_entry().load()
    }

    fn storage_entry(&self) -> StoredCertificate<'_> {
        StoredCertificate::new(&self.storage, self.url(), &self.host, &self.provider)
    }

    /// Obtains a certificate, or takes the one that another server obtained meanwhile if `is_good`
    /// is true for it. `attempt` is the number of previous failures.
    pub(crate) async fn obtain(
        &self,
        attempt: u32,
        replaced: Option<&Certificate>,
        is_good: impl Fn(&Certificate) -> bool + Send,
    ) -> Result<(Certificate, bool), AcmeError> {
        let name = format!("{}-{}", self.url(), self.host);
        let lock = lock::lock(&self.storage, &name).await?;
        let kept = self.storage_entry();
        if let Some(certificate) = kept.load()
            && is_good(&certificate)
        {
            return Ok((certificate, false));
        }
        let order = self.order(attempt, replaced);
        let issued = match tokio::time::timeout(ORDER_TIMEOUT, order).await {
            Ok(result) => result?,
            Err(_) => return Err(AcmeError::Timeout),
        };
        if lock.is_lost() {
            return Err(AcmeError::LockLost);
        }
        let certificate = kept.check(&issued)?;
        if let Err(error) = kept.store(&issued) {
            // It was expensive to obtain, and this machine has it.
            tracing::warn!(
                target: "howdah::tls",
                host = self.host,
                %error,
                "a new certificate is served, but it is not in the storage, where other machines and the next start look for it",
            );
        }
        Ok((certificate, true))
    }

    /// When the authority suggests to renew this certificate. `None`: no suggestion.
    pub(crate) async fn advice(&self, certificate: &Certificate) -> Option<Advice> {
        let id = identifier(certificate)?;
        let ask = async {
            let account = self.account().await?;
            Ok::<_, AcmeError>(account.renewal_info(&id).await?)
        };
        match tokio::time::timeout(ORDER_TIMEOUT, ask).await {
            Ok(Ok((info, ask_again))) => Some(Advice {
                start: info.suggested_window.start.into(),
                end: info.suggested_window.end.into(),
                ask_again,
            }),
            Ok(Err(error)) => {
                tracing::debug!(target: "howdah::tls", host = self.host, %error, "the authority suggests no time for the renewal");
                None
            }
            Err(_) => None,
        }
    }

    async fn order(
        &self,
        attempt: u32,
        replaced: Option<&Certificate>,
    ) -> Result<IssuedCertificate, AcmeError> {
        let known = self.stored_account()?.1;
        let (account, mut order) = match self.new_order(replaced).await {
            Err(error) if error.is_unknown_account() => {
                // The authority no longer knows it: a test server after a restart.
                self.forget_account(known).await?;
                self.new_order(None).await?
            }
            result => result?,
        };
        let shown = self.show(&mut order, attempt).await?;
        let status = order.poll_ready(&POLL).await?;
        if status != OrderStatus::Ready && status != OrderStatus::Valid {
            return Err(AcmeError::Refused(reason(&mut order).await));
        }
        drop(shown);
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new([self.host.clone()])?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        let request = params.serialize_request(&key)?;
        order.finalize_csr(request.der()).await?;
        let chain = order.poll_certificate(&POLL).await?;
        Ok(IssuedCertificate {
            key: key.serialize_pem(),
            chain,
            url: order.state().certificate.clone(),
            account: Some(account.id().to_owned()),
        })
    }

    async fn new_order(
        &self,
        replaced: Option<&Certificate>,
    ) -> Result<(Account, Order), AcmeError> {
        let account = self.account().await?;
        let identifiers = [match self.host.parse() {
            Ok(ip) => Identifier::Ip(ip),
            Err(_) => Identifier::Dns(self.host.clone()),
        }];
        let new = || match &self.acme.profile {
            Some(profile) => NewOrder::new(&identifiers).profile(profile),
            None => NewOrder::new(&identifiers),
        };
        if let Some(id) = replaced.and_then(identifier) {
            match account
                .new_order(&new().replaces(id))
                .await
                .map_err(AcmeError::from)
            {
                Ok(order) => return Ok((account, order)),
                Err(error) if error.wait().is_some() => return Err(error),
                Err(_) => {}
            }
        }
        // There is nothing to replace, or the authority does not know it, or it is already
        // replaced.
        let order = account.new_order(&new()).await?;
        Ok((account, order))
    }

    /// Publishes the proofs that the order requires, and notifies the authority.
    async fn show(
        &self,
        order: &mut Order,
        attempt: u32,
    ) -> Result<Vec<PublishedProof>, AcmeError> {
        let mut shown = Vec::new();
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization?;
            if authorization.status != AuthorizationStatus::Pending {
                continue;
            }
            let offered = |proof: &&Proof| {
                let kind = proof.challenge();
                authorization
                    .challenges
                    .iter()
                    .any(|one| one.r#type == kind)
            };
            let usable: Vec<Proof> = self.proofs.iter().filter(offered).copied().collect();
            // The challenge that failed the last time may be blocked, so the other one is tried.
            let turn = usize::try_from(attempt).unwrap_or_default();
            let proof = *usable
                .get(turn % usable.len().max(1))
                .ok_or(AcmeError::NoChallenge)?;
            let mut challenge = authorization
                .challenge(proof.challenge())
                .ok_or(AcmeError::NoChallenge)?;
            let answer = challenge.key_authorization();
            shown.push(match proof {
                Proof::Http => self
                    .challenges
                    .show_http(&challenge.token, answer.as_str())?,
                Proof::TlsAlpn => self
                    .challenges
                    .show_tls(&self.host, answer.digest().as_ref())?,
            });
            challenge.set_ready().await?;
        }
        Ok(shown)
    }

    fn stored_account(&self) -> io::Result<(StoredAccount<'_>, Option<Credentials>)> {
        StoredAccount::find(&self.storage, self.url(), self.acme.email.as_deref())
    }

    /// Several names are requested at the same time, and one of them creates the account for all: authorities limit the
    /// number of new accounts.
    async fn lock_account(&self) -> io::Result<lock::Lock> {
        let email = self.acme.email.as_deref().unwrap_or_default();
        let name = format!("account-{}-{email}", self.url());
        lock::lock(&self.storage, &name).await
    }

    async fn account(&self) -> Result<Account, AcmeError> {
        if let (kept, Some(known)) = self.stored_account()? {
            return self.existing_account(&kept, known).await;
        }
        let _lock = self.lock_account().await?;
        // Another one may have created it meanwhile.
        match self.stored_account()? {
            (kept, Some(known)) => self.existing_account(&kept, known).await,
            (kept, None) => self.new_account(&kept).await,
        }
    }

    async fn existing_account(
        &self,
        kept: &StoredAccount<'_>,
        known: Credentials,
    ) -> Result<Account, AcmeError> {
        let url = self.url().to_owned();
        let Credentials { key, url: id } = known;
        if let Some(id) = id {
            return Ok(self.builder()?.from_parts(id, key, url).await?);
        }
        let pair = Key::from_pkcs8_der(key.clone_key())?;
        let (account, _) = self.builder()?.from_key((pair, key.into()), url).await?;
        kept.register(account.id())?;
        Ok(account)
    }

    async fn new_account(&self, kept: &StoredAccount<'_>) -> Result<Account, AcmeError> {
        let url = self.url().to_owned();
        let contact = self
            .acme
            .email
            .as_ref()
            .map(|email| format!("mailto:{email}"));
        let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
        let new = NewAccount {
            contact: &contact,
            terms_of_service_agreed: true,
            only_return_existing: false,
        };
        let binding = match &self.acme.eab {
            Some(account) => {
                let key = BASE64_URL_SAFE_NO_PAD.decode(&account.mac_key);
                let key = key.map_err(|_| AcmeError::MacKey)?;
                Some(ExternalAccountKey::new(account.key_id.clone(), &key))
            }
            None => None,
        };
        let (account, credentials) = self.builder()?.create(&new, url, binding.as_ref()).await?;
        kept.store(credentials.private_key(), account.id())?;
        Ok(account)
    }

    /// Forgets this account, unless another name has already created a new one.
    async fn forget_account(&self, known: Option<Credentials>) -> io::Result<()> {
        let _lock = self.lock_account().await?;
        let (kept, now) = self.stored_account()?;
        match (known, now) {
            (Some(known), Some(now)) if known.key == now.key => kept.forget(),
            _ => Ok(()),
        }
    }

    fn builder(&self) -> Result<instant_acme::AccountBuilder, AcmeError> {
        let roots = authority_client::roots(self.acme.root.as_deref())?;
        let client = AuthorityClient::new(self.url(), roots).map_err(TlsError::from)?;
        Ok(Account::builder_with_http(Box::new(client)))
    }

    /// Consecutive failures of this name.
    pub(crate) fn failures(&self) -> Failures {
        let kept = self.storage.read(layout::failures(self.url(), &self.host));
        let text = kept
            .ok()
            .flatten()
            .and_then(|kept| String::from_utf8(kept).ok());
        text.and_then(|text| Failures::parse(&text, SystemTime::now()))
            .unwrap_or_default()
    }

    /// Stores them; removes them if there are none.
    pub(crate) fn set_failures(&self, failures: Option<&Failures>) {
        let file = layout::failures(self.url(), &self.host);
        let result = match failures {
            None => self.storage.remove(&file),
            Some(failures) => self.storage.write(&file, failures.text().as_bytes()),
        };
        // An unavailable storage was already reported.
        if let Err(error) = result
            && !is_unavailable(&error)
        {
            let file = self.storage.path(&file);
            tracing::warn!(target: "howdah::tls", file = %file.display(), error = %crate::directory::reason(&error), "cannot be written");
        }
    }

    /// Their place, for messages.
    pub(crate) fn failures_path(&self) -> PathBuf {
        self.storage.path(layout::failures(self.url(), &self.host))
    }
}

impl Proof {
    fn challenge(self) -> ChallengeType {
        match self {
            Self::Http => ChallengeType::Http01,
            Self::TlsAlpn => ChallengeType::TlsAlpn01,
        }
    }
}

/// The authority's message about an order that failed.
async fn reason(order: &mut Order) -> String {
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let Ok(state) = authorization.refresh().await else {
            break;
        };
        let error = state.challenges.iter().find_map(|one| one.error.as_ref());
        if let Some(error) = error {
            return error.to_string();
        }
    }
    let error = order.state().error.as_ref();
    error.map_or_else(|| "it gives no reason".to_owned(), ToString::to_string)
}

fn identifier(certificate: &Certificate) -> Option<CertificateIdentifier<'static>> {
    let leaf = certificate.key.cert.first()?;
    CertificateIdentifier::try_from(leaf)
        .ok()
        .map(CertificateIdentifier::into_owned)
}

/// The directory of the authority.
pub(crate) fn url(acme: &Acme) -> &str {
    acme.directory.as_deref().unwrap_or(LETS_ENCRYPT)
}
