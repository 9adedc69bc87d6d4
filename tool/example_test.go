package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
)

// tracker stands for a system that makes a new ticket each time it is asked, and can be searched.
type tracker map[string]string

func (t tracker) open(label, title string) string {
	number := fmt.Sprintf("T-%d", len(t)+1)
	t[label] = number + " " + title
	return t[label]
}

type ticket struct {
	Title string `json:"title" jsonschema:"one line"`
	Body  string `json:"body,omitempty"`
}

// A side effect that must not happen twice: it leaves its call ID where Inspect finds it after a crash.
func ExampleNew() {
	tickets := tracker{}
	open := tool.Must(tool.New("tracker.open", "Opens a ticket.",
		func(_ context.Context, call tool.Call, in ticket) (string, error) {
			return tickets.open(call.ID, in.Title), nil
		},
		tool.Options{
			Inspect: func(_ context.Context, call tool.Call) (tool.Inspection, error) {
				if found, ok := tickets[call.ID]; ok {
					return tool.Inspection{Outcome: tool.Succeeded, Output: found}, nil
				}
				// Not there, but the request may still be on its way: that is for a person to decide.
				return tool.Inspection{Outcome: tool.Unknown}, nil
			},
		}))

	ctx, call := context.Background(), tool.Call{ID: "call-1", Arguments: json.RawMessage(`{"title":"Fix the door"}`)}
	fmt.Println(open.(tool.Inspector).Inspect(ctx, call))
	fmt.Println(open.Run(ctx, call))
	fmt.Println(open.(tool.Inspector).Inspect(ctx, call))
	fmt.Println(string(open.Declaration().InputSchema))
	// Output:
	// {unknown } <nil>
	// T-1 Fix the door <nil>
	// {succeeded T-1 Fix the door} <nil>
	// {"type":"object","properties":{"title":{"type":"string","description":"one line"},"body":{"type":"string"}},"required":["title"],"additionalProperties":false}
}

type city struct {
	Name string `json:"name" jsonschema:"the city, in English"`
}

type weather struct {
	Celsius float64 `json:"celsius"`
}

// A tool that changes nothing may run again after a crash without asking anybody.
func ExampleNew_readOnly() {
	forecast := tool.Must(tool.New("weather.now", "Tells a city's temperature.",
		func(_ context.Context, _ tool.Call, in city) (weather, error) {
			if in.Name != "Oslo" {
				return weather{}, fmt.Errorf("no station in %s; the only one is in Oslo", in.Name)
			}
			return weather{Celsius: -3.5}, nil
		},
		tool.Options{Effect: api.ReadOnly}))

	ctx := context.Background()
	fmt.Println(forecast.Run(ctx, tool.Call{Arguments: json.RawMessage(`{"name":"Oslo"}`)}))
	_, err := forecast.Run(ctx, tool.Call{Arguments: json.RawMessage(`{"name":"Rome"}`)})
	fmt.Println(err)
	// Output:
	// {"celsius":-3.5} <nil>
	// no station in Rome; the only one is in Oslo
}

func ExampleSchema_Validate() {
	schema, err := tool.Compile(json.RawMessage(`{"type":"object","properties":{"line":{"type":"integer","minimum":1}},"required":["line"]}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(schema.Validate([]byte(`{"line":0}`)))
	fmt.Println(schema.Validate([]byte(`{"line":3`)))
	// Output:
	// arguments_invalid: the call was not run: its arguments are not acceptable: at /line: minimum: got 0, want 1. Correct them and call again.
	// arguments_invalid: the call was not run: its arguments are not acceptable: the JSON ends too early, at byte 9. Correct them and call again.
}
