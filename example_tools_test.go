package openworker_test

import (
	"context"
	"fmt"

	"github.com/openworkerai/openworker"
)

// The code of docs/guides/tools.md stands in this file.

type city struct {
	Name string `json:"name" jsonschema:"the city, in English"`
}

type weather struct {
	Celsius float64 `json:"celsius"`
}

func forecast(_ context.Context, _ openworker.ToolCall, in city) (weather, error) {
	if in.Name != "Oslo" {
		return weather{}, fmt.Errorf("no station in %s; the only one is in Oslo", in.Name)
	}
	return weather{Celsius: -3.5}, nil
}

// A tool that changes nothing may run again after a crash without asking anybody.
func ExampleNewTool() {
	tool, err := openworker.NewTool("weather.now", "Tells a city's temperature.", forecast, openworker.ToolOptions{Effect: openworker.ReadOnly})
	if err != nil {
		panic(err)
	}
	harness, close := offline()
	defer close()
	session := newSession(harness, tool)
	result, err := session.Run(ctx, `use weather.now with {"name": "Oslo"}`)
	fmt.Println(result.Text, err)
	result, err = session.Run(ctx, `use weather.now with {"name": "Rome"}`)
	fmt.Println(result.Text, err)
	// Output:
	// weather__now returned “{"celsius":-3.5}” <nil>
	// weather__now did not succeed: “no station in Rome; the only one is in Oslo” <nil>
}

type ticket struct {
	Title string `json:"title" jsonschema:"one line"`
	Body  string `json:"body,omitempty"`
}

// tracker stands for a system that makes a new ticket each time it is asked, and can be searched.
type tracker map[string]string

func (t tracker) open(_ context.Context, call openworker.ToolCall, in ticket) (string, error) {
	t[call.ID] = fmt.Sprintf("T-%d %s", len(t)+1, in.Title) // the call's ID is its label
	return t[call.ID], nil
}

func (t tracker) inspect(_ context.Context, call openworker.ToolCall) (openworker.Inspection, error) {
	if found, ok := t[call.ID]; ok {
		return openworker.Inspection{Outcome: openworker.InspectSucceeded, Output: found}, nil
	}
	// Not there, but the request may still be on its way: that is for a person to decide.
	return openworker.Inspection{Outcome: openworker.InspectUnknown}, nil
}

// A side effect that must not happen twice: it leaves its call ID where Inspect finds it after a crash.
func ExampleNewTool_inspect() {
	tickets := tracker{}
	tool, err := openworker.NewTool("tracker.open", "Opens a ticket.", tickets.open, openworker.ToolOptions{Inspect: tickets.inspect})
	if err != nil {
		panic(err)
	}
	harness, close := offline()
	defer close()
	result, err := newSession(harness, tool).Run(ctx, `use tracker.open with {"title": "Fix the door"}`)
	fmt.Println(result.Text, err)
	for id := range tickets {
		fmt.Println(tickets.inspect(ctx, openworker.ToolCall{ID: id}))
	}
	fmt.Println(tickets.inspect(ctx, openworker.ToolCall{ID: "another"}))
	// Output:
	// tracker__open returned “T-1 Fix the door” <nil>
	// {succeeded T-1 Fix the door} <nil>
	// {unknown } <nil>
}
