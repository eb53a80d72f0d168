//! What the windows may call: convert, call the desk, hand the answer back.

use crate::windows::State;
use countersign_companion::desk::{LooseningAnswer, Pause};
use countersign_protocol::edits::{DocumentView, EditResult, EffectiveView};
use countersign_protocol::history::{ChainReport, HistoryPage, RunningView};
use countersign_protocol::ids::RequestId;
use countersign_protocol::question::Outcome;
use countersign_protocol::remember::{RuleBreadth, RungBreadth};
use countersign_protocol::rule_edits::{RuleEditParams, RuleEditResult, RulesView};
use countersign_protocol::settings::Settings;
use countersign_protocol::state::{TestParams, TestResult};
use countersign_protocol::ui::{
    AgentPreview, AgentPreviewParams, AgentWritten, AgentsView, CommandError, ConnectionsView, DecideParams,
    EditParams, EmbeddedEdit, ErrorCode, FolderAtHand, FoldersView, ForwardSettings, ForwardTargetEdit,
    GatewayEdit, KeptChanges, KeptDiff, KeptParams, KeptSession, NamedDestination, Page, PetSourceEdit,
    PolicyEditParams, PolicyPlace, PolicyPreviewParams, PolicyRead, PolicyStores, PutBackResult, RouteEdit,
    RouteResult, RoutingView, SampleResult, SampleRun, Snapshot, ToolsExplained, ToolsQuery,
};
use std::time::Duration;
use tauri::{AppHandle, Manager, State as Managed};
use tauri_plugin_autostart::ManagerExt;

type Result<T> = std::result::Result<T, CommandError>;

#[tauri::command]
pub(crate) async fn snapshot(state: Managed<'_, State>) -> Result<Snapshot> {
    Ok(state.desk.snapshot().await)
}

#[tauri::command]
pub(crate) async fn card_painted(state: Managed<'_, State>, id: RequestId, generation: u32) -> Result<u64> {
    state.desk.card_painted(&id, generation).await
}

#[tauri::command]
pub(crate) async fn decide(state: Managed<'_, State>, params: DecideParams) -> Result<Outcome> {
    state.desk.decide(&params).await
}

#[tauri::command]
pub(crate) async fn dismiss(state: Managed<'_, State>, id: RequestId) -> Result<Vec<RequestId>> {
    Ok(state.desk.dismiss(&id).await)
}

#[tauri::command]
pub(crate) async fn deny_run(state: Managed<'_, State>, id: RequestId) -> Result<Vec<RequestId>> {
    Ok(state.desk.deny_run(&id, "window").await)
}

#[tauri::command]
pub(crate) async fn deny_all(state: Managed<'_, State>) -> Result<usize> {
    Ok(state.desk.deny_all("window").await.len())
}

#[tauri::command]
pub(crate) fn set_paused(state: Managed<'_, State>, paused: bool, minutes: Option<u32>) {
    match (paused, minutes) {
        (true, Some(minutes)) => state.desk.pause_for(Duration::from_secs(60 * u64::from(minutes))),
        (true, None) => state.desk.set_paused(Pause::Paused),
        (false, _) => state.desk.set_paused(Pause::Prompting),
    }
}

#[tauri::command]
pub(crate) async fn document(state: Managed<'_, State>) -> Result<DocumentView> {
    Ok(state.desk.document().await)
}

#[tauri::command]
pub(crate) async fn edit_document(state: Managed<'_, State>, params: EditParams) -> Result<EditResult> {
    state.desk.edit(params).await
}

#[tauri::command]
pub(crate) fn answer_confirmation(state: Managed<'_, State>, id: String, apply: bool) -> Result<()> {
    state.desk.answer_confirmation(&id, if apply { LooseningAnswer::Apply } else { LooseningAnswer::Keep })
}

#[tauri::command]
pub(crate) async fn reset_document(state: Managed<'_, State>) -> Result<String> {
    state.desk.reset_document().await
}

#[tauri::command]
pub(crate) async fn rules(state: Managed<'_, State>) -> Result<RulesView> {
    Ok(state.desk.rules().await)
}

#[tauri::command]
pub(crate) async fn edit_rules(state: Managed<'_, State>, params: RuleEditParams) -> Result<RuleEditResult> {
    state.desk.edit_rules(params).await
}

#[tauri::command]
pub(crate) async fn breadth_of_card(state: Managed<'_, State>, id: RequestId) -> Result<Vec<RungBreadth>> {
    state.desk.breadth_of_card(&id).await
}

#[tauri::command]
pub(crate) async fn breadth_of_rules(state: Managed<'_, State>) -> Result<Vec<RuleBreadth>> {
    state.desk.breadth_of_rules().await
}

#[tauri::command]
pub(crate) async fn reset_rules(state: Managed<'_, State>) -> Result<String> {
    state.desk.reset_rules().await
}

#[tauri::command]
pub(crate) async fn test_command(state: Managed<'_, State>, params: TestParams) -> Result<TestResult> {
    Ok(state.desk.test(&params).await)
}

#[tauri::command]
pub(crate) async fn explain_tools(state: Managed<'_, State>, query: ToolsQuery) -> Result<ToolsExplained> {
    state.desk.explain_tools(query).await
}

#[tauri::command]
pub(crate) async fn history(
    state: Managed<'_, State>,
    before: Option<u64>,
    limit: usize,
) -> Result<HistoryPage> {
    state.desk.history(before, limit).await
}

#[tauri::command]
pub(crate) async fn folders(state: Managed<'_, State>) -> Result<FoldersView> {
    state.desk.folders().await
}

#[tauri::command]
pub(crate) async fn folder_at_hand(state: Managed<'_, State>) -> Result<Option<FolderAtHand>> {
    state.desk.folder_at_hand().await
}

#[tauri::command]
pub(crate) fn named_destination(state: Managed<'_, State>, text: String) -> Result<NamedDestination> {
    state.desk.named_destination(&text)
}

#[tauri::command]
pub(crate) async fn kept_changes(state: Managed<'_, State>, params: KeptParams) -> Result<KeptChanges> {
    state.desk.kept_changes(params.seq).await
}

#[tauri::command]
pub(crate) async fn kept_diff(state: Managed<'_, State>, params: KeptParams) -> Result<KeptDiff> {
    state.desk.kept_diff(params).await
}

#[tauri::command]
pub(crate) async fn kept_session(state: Managed<'_, State>, params: KeptParams) -> Result<KeptSession> {
    state.desk.kept_session(params.seq).await
}

#[tauri::command]
pub(crate) async fn put_back(state: Managed<'_, State>, params: KeptParams) -> Result<PutBackResult> {
    state.desk.put_back(params).await
}

#[tauri::command]
pub(crate) async fn verify_history(state: Managed<'_, State>) -> Result<ChainReport> {
    state.desk.verify_history().await
}

#[tauri::command]
pub(crate) fn running(state: Managed<'_, State>) -> Vec<RunningView> {
    state.desk.running()
}

#[tauri::command]
pub(crate) fn stop_run(state: Managed<'_, State>, id: RequestId) -> Result<()> {
    state.desk.stop_run(&id)
}

#[tauri::command]
pub(crate) async fn show_server(state: Managed<'_, State>, id: RequestId, port: u16) -> Result<u16> {
    state.desk.show_server(&id, port)
}

#[tauri::command]
pub(crate) fn hide_server(state: Managed<'_, State>, id: RequestId, port: u16) -> Result<()> {
    state.desk.hide_server(&id, port)
}

#[tauri::command]
pub(crate) fn set_settings(state: Managed<'_, State>, settings: Settings) -> Result<()> {
    state.desk.set_settings(settings)
}

#[tauri::command]
pub(crate) fn autostart(app: AppHandle) -> Result<bool> {
    app.autolaunch().is_enabled().map_err(|error| internal(&error))
}

#[tauri::command]
pub(crate) fn set_autostart(app: AppHandle, enabled: bool) -> Result<bool> {
    let autolaunch = app.autolaunch();
    let changed = if enabled { autolaunch.enable() } else { autolaunch.disable() };
    changed.and_then(|()| autolaunch.is_enabled()).map_err(|error| internal(&error))
}

#[tauri::command]
pub(crate) async fn prompt_blank(state: Managed<'_, State>) -> Result<()> {
    state.windows.hide_prompt();
    // A request that came while the window blanked itself has raised it already, and would now wait unseen.
    if state.desk.wants_prompt().await {
        state.windows.show_prompt(None);
    }
    Ok(())
}

#[tauri::command]
pub(crate) fn size_prompt(state: Managed<'_, State>, width: u32, height: u32) {
    state.windows.size_prompt(width, height);
}

#[tauri::command]
pub(crate) async fn open_prompt(state: Managed<'_, State>, id: RequestId) -> Result<()> {
    state.desk.show_card(&id);
    state.windows.show_prompt(Some(id.as_str()));
    Ok(())
}

#[tauri::command]
pub(crate) async fn open_main(app: AppHandle, page: Page, card: Option<RequestId>) -> Result<()> {
    let state = app.state::<State>();
    match card {
        Some(card) if page == Page::Inbox => state.desk.show_in_inbox(card),
        _ => state.desk.show_page(page),
    }
    Ok(())
}

#[tauri::command]
pub(crate) async fn connections(state: Managed<'_, State>) -> Result<ConnectionsView> {
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn save_gateway(state: Managed<'_, State>, edit: GatewayEdit) -> Result<ConnectionsView> {
    state.desk.save_gateway(edit).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn remove_gateway(state: Managed<'_, State>, id: String) -> Result<ConnectionsView> {
    state.desk.remove_gateway(&id).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn retry_gateway(state: Managed<'_, State>, id: String) -> Result<ConnectionsView> {
    state.desk.retry_gateway(&id).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn set_pet_server(state: Managed<'_, State>, enabled: bool) -> Result<ConnectionsView> {
    state.desk.set_pet_server(enabled).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn disconnect_pet(state: Managed<'_, State>, session_id: String) -> Result<ConnectionsView> {
    state.desk.disconnect_pet(&session_id).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn forget_pet_choice(
    state: Managed<'_, State>,
    session_id: String,
    id: String,
) -> Result<ConnectionsView> {
    state.desk.forget_pet_choice(&session_id, &id).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn save_pet_source(
    state: Managed<'_, State>,
    edit: PetSourceEdit,
) -> Result<ConnectionsView> {
    state.desk.save_pet_source(edit).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn remove_pet_source(state: Managed<'_, State>, id: String) -> Result<ConnectionsView> {
    state.desk.remove_pet_source(&id).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn retry_pet_source(state: Managed<'_, State>, id: String) -> Result<ConnectionsView> {
    state.desk.retry_pet_source(&id).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn set_embedded(state: Managed<'_, State>, edit: EmbeddedEdit) -> Result<ConnectionsView> {
    state.desk.set_embedded(edit).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn answer_pairing(
    state: Managed<'_, State>,
    request_id: String,
    approve: bool,
) -> Result<ConnectionsView> {
    state.desk.answer_pairing(&request_id, approve).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn remove_device(state: Managed<'_, State>, id: String) -> Result<ConnectionsView> {
    state.desk.remove_device(&id).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn policies(state: Managed<'_, State>) -> Result<PolicyStores> {
    Ok(state.desk.policies().await)
}

#[tauri::command]
pub(crate) async fn policy(state: Managed<'_, State>, place: PolicyPlace) -> Result<PolicyRead> {
    Ok(state.desk.policy(&place).await)
}

#[tauri::command]
pub(crate) fn preview_policy(
    state: Managed<'_, State>,
    params: PolicyPreviewParams,
) -> Result<Vec<EffectiveView>> {
    state.desk.preview(&params)
}

#[tauri::command]
pub(crate) async fn edit_policy(state: Managed<'_, State>, params: PolicyEditParams) -> Result<EditResult> {
    state.desk.edit_policy(params).await
}

#[tauri::command]
pub(crate) async fn set_forward(
    state: Managed<'_, State>,
    settings: ForwardSettings,
) -> Result<ConnectionsView> {
    state.desk.set_forward(settings).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn save_forward_target(
    state: Managed<'_, State>,
    edit: ForwardTargetEdit,
) -> Result<ConnectionsView> {
    state.desk.save_forward_target(edit).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn remove_forward_target(state: Managed<'_, State>, id: String) -> Result<ConnectionsView> {
    state.desk.remove_forward_target(&id).await?;
    Ok(state.desk.connections().await)
}

#[tauri::command]
pub(crate) async fn send_forward_sample(state: Managed<'_, State>, id: String) -> Result<SampleResult> {
    state.desk.send_forward_sample(&id).await
}

#[tauri::command]
pub(crate) async fn routing(state: Managed<'_, State>) -> Result<RoutingView> {
    Ok(state.desk.routing().await)
}

#[tauri::command]
pub(crate) async fn set_route(state: Managed<'_, State>, edit: RouteEdit) -> Result<RouteResult> {
    state.desk.set_route(edit).await
}

#[tauri::command]
pub(crate) async fn revoke_session(
    state: Managed<'_, State>,
    agent: String,
    session: String,
    confirmed: bool,
) -> Result<RouteResult> {
    state.desk.revoke_session(&agent, &session, confirmed).await
}

#[tauri::command]
pub(crate) async fn agents(state: Managed<'_, State>) -> Result<AgentsView> {
    state.desk.agents().await
}

#[tauri::command]
pub(crate) async fn preview_agent(
    state: Managed<'_, State>,
    params: AgentPreviewParams,
) -> Result<AgentPreview> {
    state.desk.preview_agent(params).await
}

#[tauri::command]
pub(crate) async fn write_agent(state: Managed<'_, State>, id: String) -> Result<AgentWritten> {
    state.desk.write_agent(id).await
}

#[tauri::command]
pub(crate) async fn try_sample(state: Managed<'_, State>) -> Result<SampleRun> {
    Ok(state.desk.try_sample().await)
}

#[tauri::command]
pub(crate) async fn end_first_steps(state: Managed<'_, State>) -> Result<()> {
    state.desk.end_first_steps().await
}

fn internal(error: &dyn std::error::Error) -> CommandError {
    CommandError { code: ErrorCode::Internal, message: error.to_string(), mistake: None }
}
