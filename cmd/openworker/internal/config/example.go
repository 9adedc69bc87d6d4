package config

import (
	_ "embed"
	"path/filepath"
)

// Example is a configuration file with everything that may stand in it.
//
//go:embed example.yaml
var Example string

// FileIn is the configuration file in a directory of [Surroundings.Dir].
func FileIn(dir string) string { return filepath.Join(dir, fileName) }
