package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openworkerai/openworker"
)

// Live is the time from the model's sending of a piece of text to a subscriber in this process having it.
type Live struct {
	Pieces int     `json:"pieces"`
	P50    float64 `json:"p50Millis"`
	P99    float64 `json:"p99Millis"`
}

// live follows turns whose text is the time at which each piece was sent.
func (r *Report) live(ctx context.Context, dir, url string) error {
	sub, err := openSubject(ctx, filepath.Join(dir, "live"), url)
	if err != nil {
		return err
	}
	agent, err := sub.harness.Agent(ctx, openworker.AgentDefinition{Name: "paced", Instructions: "Answer briefly.",
		DefaultModel: openworker.ModelRef{Provider: "OpenAI", Name: "paced"}})
	if err != nil {
		return err
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		return err
	}
	var times []time.Duration
	for range 5 {
		stream, err := session.RunStreamed(ctx, "What is the time?")
		if err != nil {
			return err
		}
		whole := ""
		for event, err := range stream.Events() {
			if err != nil {
				return err
			}
			if event.Type != openworker.EventTextDelta {
				continue
			}
			now := time.Now()
			delta, err := openworker.Data[openworker.Delta](event)
			if err != nil {
				return err
			}
			// Text may come late and together: each piece in it counts from when it was sent.
			whole += delta.Text
			for {
				piece, rest, ok := strings.Cut(whole, " ")
				if !ok {
					break
				}
				whole = rest
				sent, err := strconv.ParseInt(piece, 10, 64)
				if err != nil {
					return fmt.Errorf("a piece of text is %q: %w", piece, err)
				}
				times = append(times, now.Sub(time.Unix(0, sent)))
			}
		}
		if _, err := stream.Finish(ctx); err != nil {
			return err
		}
	}
	if len(times) == 0 {
		return fmt.Errorf("no text came")
	}
	r.Live = Live{Pieces: len(times), P50: quantile(times, 50), P99: quantile(times, 99)}
	return sub.close(ctx)
}
