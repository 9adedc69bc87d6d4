package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// operand is what a command's usage names behind the command.
func operand(cmd *cobra.Command) string {
	_, operand, _ := strings.Cut(cmd.Use, " ")
	return operand
}

// one takes exactly the operand that the usage names.
func one(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return misused("%s takes no more than %s, and %d are given; put one with spaces in quotes", cmd.CommandPath(), operand(cmd), len(args))
	}
	return some(cmd, args)
}

// some takes the operands that the usage names, at least one.
func some(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return misused("%s needs %s", cmd.CommandPath(), operand(cmd))
	}
	return nil
}

// listToo gives a command that lists a subcommand which does the same with the same flags: many type it.
func listToo(cmd *cobra.Command) {
	list := &cobra.Command{
		Use:     "list",
		Short:   "Another name of openworker " + cmd.Use,
		Long:    "Another name of openworker " + cmd.Use + ", whose help says what is listed.",
		Example: "  openworker " + cmd.Use + "\n  openworker " + cmd.Use + " list",
		Args:    cobra.NoArgs,
		RunE:    cmd.RunE,
	}
	list.Flags().AddFlagSet(cmd.Flags())
	cmd.AddCommand(list)
}

// mistyped adds to an error of the command line the command that was probably meant.
func mistyped(cmd *cobra.Command, args []string, err error) string {
	said, _, _ := strings.Cut(err.Error(), "\n") // cobra's own suggestions stand on lines of their own
	if !strings.HasPrefix(said, "unknown command") {
		return said
	}
	cmd.SuggestionsMinimumDistance = 2
	for _, typed := range args {
		if meant := cmd.SuggestionsFor(typed); len(meant) > 0 {
			return fmt.Sprintf("%s; did you mean %s?", said, strings.Join(meant, " or "))
		}
	}
	return said
}

// helpCommand lets the help about a command that is not there fail like the command.
func helpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" {
			continue
		}
		cmd.Run = nil
		cmd.RunE = func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("unknown command %q for %q", rest[0], about.CommandPath())
			}
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		}
	}
}

// narrow lets the flags of all commands be told within 80 columns.
func narrow(root *cobra.Command) {
	root.SetUsageTemplate(strings.NewReplacer(
		"for more information about a command", "for more about a command",
		".LocalFlags.FlagUsages | trimTrailingWhitespaces", ".LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces",
		".InheritedFlags.FlagUsages | trimTrailingWhitespaces", ".InheritedFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces",
	).Replace(root.UsageTemplate()))
}
