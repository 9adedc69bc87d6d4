package sensitive_test

import (
	"context"
	"fmt"

	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/guard/sensitive"
)

func Example() {
	guardrail, err := sensitive.New(sensitive.Config{Points: []guard.Point{guard.UserInput, guard.ToolResult}})
	if err != nil {
		fmt.Println(err)
		return
	}
	verdict, err := guardrail.Check(context.Background(), guard.Unit{
		Point: guard.UserInput,
		Text:  "Mail jo@example.com; the database is postgres://app:tiger@db/app.",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(verdict.Text)
	fmt.Println(verdict.Reason)
	// Output:
	// Mail [redacted: email]; the database is postgres://app:[redacted: secret]@db/app.
	// redacted secret: 1, email: 1
}
