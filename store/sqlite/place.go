package sqlite

import (
	"errors"
	"io/fs"
	"os"

	"github.com/openworkerai/openworker/api"
)

// place remembers which files the writer writes to. A file that was removed or replaced while it was open takes
// commits as before, and they are gone with the process: what was acknowledged would be lost. So each commit
// looks, which costs two calls of stat. It is the writer's alone.
type place struct {
	path string
	main os.FileInfo // the database, for as long as the store is open
	log  os.FileInfo // the log of the connection at hand
	gone error       // what look found: there is no way back, since others may have made the files anew
}

// look refuses to go on where the files are not those that it saw first.
func (p *place) look() error {
	if err := p.same(&p.main, p.path); err != nil {
		return err
	}
	return p.same(&p.log, p.path+"-wal")
}

// reopens is called before another connection is opened, which may make a log anew but no database.
func (p *place) reopens() error {
	if p.gone != nil || p.main == nil {
		return p.gone
	}
	p.log = nil
	return p.same(&p.main, p.path)
}

func (p *place) same(seen *os.FileInfo, path string) error {
	now, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return storeError(err)
	case err != nil:
	case *seen == nil:
		*seen = now
		return nil
	case os.SameFile(*seen, now):
		return nil
	}
	p.gone = api.Errorf(api.CodeStoreCorrupt,
		"sqlite: %s was removed or replaced while this process had it open, so it writes nothing any more; put it back and start again", path)
	return p.gone
}
