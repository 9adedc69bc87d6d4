package client

import (
	"context"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Capabilities implements api.Service.
func (c *Client) Capabilities(ctx context.Context) (api.Capabilities, error) {
	return ask[api.Capabilities](ctx, c, rpc.MethodCapabilities, rpc.Empty{})
}

// RegisterAgent implements api.Service.
func (c *Client) RegisterAgent(ctx context.Context, owner string, def api.AgentDefinition) (api.AgentReference, error) {
	return ask[api.AgentReference](ctx, c, rpc.MethodRegisterAgent, rpc.RegisterAgent{Owner: owner, Definition: def})
}

// Agents implements api.Service.
func (c *Client) Agents(ctx context.Context, q api.AgentQuery) (api.AgentPage, error) {
	return ask[api.AgentPage](ctx, c, rpc.MethodAgents, q)
}

// CreateSession implements api.Service.
func (c *Client) CreateSession(ctx context.Context, agent api.AgentReference, opts api.SessionOptions) (api.SessionReference, error) {
	if err := checkImport(opts.InitialHistory); err != nil {
		return api.SessionReference{}, err
	}
	return ask[api.SessionReference](ctx, c, rpc.MethodCreateSession, rpc.CreateSession{Agent: agent, Options: opts})
}

// ResumeSession implements api.Service.
func (c *Client) ResumeSession(ctx context.Context, ref api.SessionReference, agent string) error {
	return c.tell(ctx, rpc.MethodResumeSession, rpc.ResumeSession{Reference: ref, Agent: agent})
}

// Sessions implements api.Service.
func (c *Client) Sessions(ctx context.Context, q api.SessionQuery) (api.SessionPage, error) {
	return ask[api.SessionPage](ctx, c, rpc.MethodSessions, q)
}

// State implements api.Service.
func (c *Client) State(ctx context.Context, session string) (api.SessionState, error) {
	return ask[api.SessionState](ctx, c, rpc.MethodState, rpc.SessionID{Session: session})
}

// DeleteSession implements api.Service.
func (c *Client) DeleteSession(ctx context.Context, session string, opts api.DeleteOptions) error {
	return c.tell(ctx, rpc.MethodDeleteSession, rpc.DeleteSession{Session: session, Options: opts})
}

// Submit implements api.Service.
func (c *Client) Submit(ctx context.Context, sub api.Submission) (api.RunReference, error) {
	return ask[api.RunReference](ctx, c, rpc.MethodSubmit, sub)
}

// Run implements api.Service.
func (c *Client) Run(ctx context.Context, session, run string) (api.RunReference, error) {
	return ask[api.RunReference](ctx, c, rpc.MethodRun, rpc.RunID{Session: session, Run: run})
}

// Cancel implements api.Service.
func (c *Client) Cancel(ctx context.Context, session, run string) error {
	return c.tell(ctx, rpc.MethodCancel, rpc.RunID{Session: session, Run: run})
}

// Resolve implements api.Service.
func (c *Client) Resolve(ctx context.Context, session, interaction string, answer api.Answer) error {
	if err := checkArguments(answer.Arguments); err != nil {
		return err
	}
	return c.tell(ctx, rpc.MethodResolve, rpc.Resolve{Session: session, Interaction: interaction, Answer: answer})
}

// RevokeGrant implements api.Service.
func (c *Client) RevokeGrant(ctx context.Context, session, tool, by string) error {
	return c.tell(ctx, rpc.MethodRevokeGrant, rpc.RevokeGrant{Session: session, Tool: tool, By: by})
}

// Compact implements api.Service.
func (c *Client) Compact(ctx context.Context, session string, opts api.TurnOptions) (api.RunReference, error) {
	return ask[api.RunReference](ctx, c, rpc.MethodCompact, rpc.Compact{Session: session, Options: opts})
}

// Interactions implements api.Service.
func (c *Client) Interactions(ctx context.Context, q api.InteractionQuery) (api.InteractionPage, error) {
	return ask[api.InteractionPage](ctx, c, rpc.MethodInteractions, q)
}

// BeginUpload implements api.Service.
func (c *Client) BeginUpload(ctx context.Context, session string, file api.UploadRequest) (api.Upload, error) {
	return ask[api.Upload](ctx, c, rpc.MethodBeginUpload, rpc.BeginUpload{Session: session, File: file})
}

// UploadChunk implements api.Service.
func (c *Client) UploadChunk(ctx context.Context, session, upload string, chunk api.UploadChunk) error {
	return c.tell(ctx, rpc.MethodUploadChunk, rpc.Chunk{Session: session, Upload: upload, Chunk: chunk})
}

// CommitUpload implements api.Service.
func (c *Client) CommitUpload(ctx context.Context, session, upload string) (api.Upload, error) {
	return ask[api.Upload](ctx, c, rpc.MethodCommitUpload, rpc.UploadID{Session: session, Upload: upload})
}

// Result implements api.Service.
func (c *Client) Result(ctx context.Context, session, run string) (api.Result, error) {
	return ask[api.Result](ctx, c, rpc.MethodResult, rpc.RunID{Session: session, Run: run})
}

// Events implements api.Service.
func (c *Client) Events(ctx context.Context, q api.EventQuery) (api.EventPage, error) {
	return ask[api.EventPage](ctx, c, rpc.MethodEvents, q)
}

// History implements api.Service.
func (c *Client) History(ctx context.Context, q api.HistoryQuery) (api.HistoryPage, error) {
	return ask[api.HistoryPage](ctx, c, rpc.MethodHistory, q)
}

// Usage implements api.Service.
func (c *Client) Usage(ctx context.Context, q api.UsageQuery) ([]api.UsageRow, error) {
	rows, err := ask[rpc.UsageRows](ctx, c, rpc.MethodUsage, q)
	return rows.Rows, err
}
