package config

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// maxKeyBytes bounds one key.
const maxKeyBytes = 16 << 10

// Keys are the providers' keys for a harness.
func (c *Config) Keys() openworker.Credentials {
	return openworker.CredentialFunc(func(ctx context.Context, name string) (string, bool, error) {
		p, ok := c.Provider(name)
		if !ok {
			return "", false, nil
		}
		key, _, err := c.Key(ctx, p)
		return key, key != "", err
	})
}

// SetKey stores a provider's key in the file of keys, which only its owner may read; "" removes it. had says whether
// one was stored before. The file is replaced as a whole.
//
// Errors: invalid_request for a key that is none and where there is no place for the file, credentials_missing for a
// file that is not one of keys.
func (c *Config) SetKey(p Provider, key string) (had bool, err error) {
	switch {
	case c.KeyFile == "":
		return false, api.Errorf(api.CodeInvalidRequest, "there is no directory for the file of keys; set HOME, or give the key in %s", p.KeyVariables[0])
	case len(key) > maxKeyBytes:
		return false, api.Errorf(api.CodeInvalidRequest, "the key is longer than %d bytes", maxKeyBytes)
	case strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return false, api.Errorf(api.CodeInvalidRequest, "the key holds white space, or a character that is not ASCII; give the key and nothing else")
	}
	path := c.KeyFile
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	if _, _, err := c.stored.Credential(context.Background(), p.Name); err != nil {
		return false, err // its reason is worded there, and quotes nothing of the file
	}
	keys := map[string]string{}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &keys)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, api.Errorf(api.CodeCredentialsMissing, "the keys in %s cannot be read", path)
	}
	for name := range keys {
		if sameName(name, p.Name) {
			had = had || keys[name] != ""
			delete(keys, name)
		}
	}
	if key == "" && !had {
		return false, nil
	}
	if key != "" {
		keys[p.Name] = key
	}
	if err := replace(path, keys); err != nil {
		return had, api.Errorf(api.CodeInvalidRequest, "the key cannot be stored: %w", err)
	}
	return had, nil
}

// replace writes the keys beside the file and puts them in its place.
func replace(path string, keys map[string]string) (err error) {
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil && runtime.GOOS != "windows" {
		err = os.Chmod(file.Name(), 0o600)
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}
