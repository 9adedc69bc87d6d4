package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	if _, err := os.Stat(path); key == "" && errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	file, err := claim(path)
	if err != nil {
		return false, api.Errorf(api.CodeInvalidRequest, "the key cannot be stored: %w", err)
	}
	placed := false
	defer func() {
		if !placed { // else the name may be another's claim by now
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
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
	if err := replace(file, path, keys); err != nil {
		return had, api.Errorf(api.CodeInvalidRequest, "the key cannot be stored: %w", err)
	}
	placed = true
	return had, nil
}

// claimWithin is how long another process may take to store a key.
const claimWithin = 5 * time.Second

// claim makes the file that is to take the place of another. While it is there nobody else does: two processes that
// store keys at once lose neither.
func claim(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	next := path + ".new"
	for until := time.Now().Add(claimWithin); ; time.Sleep(10 * time.Millisecond) {
		file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			return file, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		case time.Now().After(until):
			return nil, fmt.Errorf("another process stores a key, or died while it did: if there is none, remove %s", next)
		}
	}
}

// replace writes the keys into the file that was claimed and puts it in its place.
func replace(file *os.File, path string, keys map[string]string) error {
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
