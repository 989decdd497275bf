//! Conversions between the protocol's policies and Switchboard's settings.

use switchboard_event::{ApprovalMode, SandboxMode};

use super::wire::{ApprovalPolicy, NetworkAccess, SandboxPolicy};

impl From<ApprovalPolicy> for ApprovalMode {
    fn from(policy: ApprovalPolicy) -> Self {
        match policy {
            ApprovalPolicy::Never => Self::AutoAll,
            ApprovalPolicy::UnlessTrusted => Self::AskDangerous,
            ApprovalPolicy::Always => Self::Ask,
        }
    }
}

impl From<ApprovalMode> for ApprovalPolicy {
    /// The protocol has no policy for automatic edits; `UnlessTrusted` is the closest.
    fn from(mode: ApprovalMode) -> Self {
        match mode {
            ApprovalMode::AutoAll => Self::Never,
            ApprovalMode::AskDangerous | ApprovalMode::AutoEdit => Self::UnlessTrusted,
            ApprovalMode::Ask => Self::Always,
        }
    }
}

/// Sandbox settings of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The writable area.
    pub mode: SandboxMode,
    /// Writable directories in addition to the workspace.
    pub writable_roots: Vec<String>,
    /// Whether network access is allowed; none if not specified.
    pub network_access: Option<bool>,
}

impl From<SandboxPolicy> for SandboxSettings {
    fn from(policy: SandboxPolicy) -> Self {
        let only = |mode| Self { mode, ..Self::default() };
        match policy {
            SandboxPolicy::DangerFullAccess => only(SandboxMode::FullAccess),
            SandboxPolicy::ReadOnly => only(SandboxMode::ReadOnly),
            SandboxPolicy::WorkspaceWrite { writable_roots, network_access } => Self {
                mode: SandboxMode::WorkspaceWrite,
                writable_roots: writable_roots.unwrap_or_default(),
                network_access,
            },
            SandboxPolicy::ExternalSandbox { network_access } => Self {
                network_access: network_access.map(|access| access == NetworkAccess::Enabled),
                ..only(SandboxMode::None)
            },
        }
    }
}

impl From<SandboxSettings> for SandboxPolicy {
    fn from(sandbox: SandboxSettings) -> Self {
        let access = |enabled| if enabled { NetworkAccess::Enabled } else { NetworkAccess::Restricted };
        match sandbox.mode {
            SandboxMode::FullAccess => Self::DangerFullAccess,
            SandboxMode::ReadOnly => Self::ReadOnly,
            SandboxMode::WorkspaceWrite => Self::WorkspaceWrite {
                writable_roots: Some(sandbox.writable_roots).filter(|roots| !roots.is_empty()),
                network_access: sandbox.network_access,
            },
            SandboxMode::None => Self::ExternalSandbox { network_access: sandbox.network_access.map(access) },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_client_sets_is_what_it_reads() {
        for policy in [ApprovalPolicy::Never, ApprovalPolicy::UnlessTrusted, ApprovalPolicy::Always] {
            assert_eq!(ApprovalPolicy::from(ApprovalMode::from(policy)), policy);
        }
        for policy in [
            json!({"type": "dangerFullAccess"}),
            json!({"type": "readOnly"}),
            json!({"type": "workspaceWrite"}),
            json!({"type": "workspaceWrite", "writableRoots": ["/a"], "networkAccess": false}),
            json!({"type": "externalSandbox"}),
            json!({"type": "externalSandbox", "networkAccess": "restricted"}),
            json!({"type": "externalSandbox", "networkAccess": "enabled"}),
        ] {
            let given: SandboxPolicy = serde_json::from_value(policy.clone()).unwrap();
            let back = SandboxPolicy::from(SandboxSettings::from(given));
            assert_eq!(serde_json::to_value(back).unwrap(), policy);
        }
    }

    #[test]
    fn policies_mean_what_ours_mean() {
        assert_eq!(ApprovalMode::from(ApprovalPolicy::Never), ApprovalMode::AutoAll);
        assert_eq!(ApprovalMode::from(ApprovalPolicy::UnlessTrusted), ApprovalMode::AskDangerous);
        assert_eq!(ApprovalMode::from(ApprovalPolicy::Always), ApprovalMode::Ask);
        assert_eq!(ApprovalPolicy::from(ApprovalMode::AutoEdit), ApprovalPolicy::UnlessTrusted);
        assert_eq!(
            SandboxSettings::from(SandboxPolicy::ExternalSandbox { network_access: None }).mode,
            SandboxMode::None
        );
    }
}
