//go:build !unix

package main

import "errors"

func stopSelf() error { return errors.New("this system cannot stop a process") }
