package main

import (
	"context"
	"os"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// victim serves commands.
type victim struct {
	service      face
	agent        api.AgentReference
	unregistered error
	out          *output
	points       *points
	close        func() error
}

func (v *victim) serve(ctx context.Context, c chaos.Command) {
	switch c.Op {
	case "close":
		err := v.service.Close(ctx)
		if closing := v.close(); err == nil {
			err = closing
		}
		v.out.reply(c.ID, nil, err)
		os.Exit(0)
	case "follow":
		v.follow(ctx, c)
	default:
		value, err := v.answer(ctx, c)
		v.out.reply(c.ID, value, err)
	}
}

func (v *victim) answer(ctx context.Context, c chaos.Command) (any, error) {
	s := v.service
	switch c.Op {
	case "create":
		if v.unregistered != nil {
			return nil, v.unregistered
		}
		return s.CreateSession(ctx, v.agent, api.SessionOptions{IdempotencyKey: c.Key, InitialHistory: c.History})
	case "submit":
		return s.Submit(ctx, api.Submission{Session: c.Session, Text: c.Text, Options: api.TurnOptions{SubmissionID: c.Key, WhenBusy: c.WhenBusy}})
	case "send":
		return v.send(ctx, c)
	case "upload":
		return v.upload(ctx, c)
	case "compact":
		return s.Compact(ctx, c.Session, api.TurnOptions{SubmissionID: c.Key})
	case "result":
		return s.Result(ctx, c.Session, c.Run)
	case "resolve":
		return nil, s.Resolve(ctx, c.Session, c.Interaction, c.Answer)
	case "cancel":
		return nil, s.Cancel(ctx, c.Session, c.Run)
	case "state":
		return s.State(ctx, c.Session)
	case "events":
		return s.Events(ctx, api.EventQuery{Session: c.Session, After: c.After, Limit: api.MaxPage})
	case "history":
		return s.History(ctx, api.HistoryQuery{Session: c.Session, Limit: api.MaxPage})
	case "stop":
		return nil, v.points.arm(c.Text)
	case "sessions":
		return s.Sessions(ctx, api.SessionQuery{Limit: api.MaxPage})
	case "interactions":
		return s.Interactions(ctx, api.InteractionQuery{Limit: api.MaxPage})
	}
	return nil, api.Errorf(api.CodeInvalidRequest, "there is no command %q", c.Op)
}

// follow replies with each event until the run's end.
func (v *victim) follow(ctx context.Context, c chaos.Command) {
	stream, err := v.service.Follow(ctx, api.FollowQuery{Session: c.Session, Run: c.Run, After: c.After})
	if err != nil {
		v.out.reply(c.ID, nil, err)
		return
	}
	for {
		e, err := stream.Next(ctx)
		v.out.reply(c.ID, e, err)
		if err != nil || e.Type == api.EventTurnEnded && c.Run != "" {
			return
		}
	}
}
