package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	file := flag.String("script", "", "the file with the script; without it the first line of standard input is one")
	flag.Parse()
	if err := run(*file, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "modelserver:", err)
		os.Exit(1)
	}
}

func run(file string, rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("%q: there are no arguments but -script", rest[0])
	}
	var script []byte
	if file != "" {
		var err error
		if script, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	return serve(script, os.Stdin, os.Stdout)
}
