package traffic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agentenv/netlog/capture"
)

// A Collector brings what an env has into a folder: every capture and the HAR of
// its network log. A folder that has something already gets what it lacks.
type Collector struct {
	Client *Client
	Dir    string // made when it is not there; readable by its owner alone

	// Progress is told of every piece that arrives. Nil: nobody is.
	Progress func(Progress)

	// Saved is told each time that another file stands in the manifest. Nil: nobody
	// is.
	Saved func()
}

// Progress is how far a collection is.
type Progress struct {
	File        string // what is being downloaded, by its name at the server
	Done, Total int64  // bytes; more may be done than was listed, as captures grow
}

// patience is for how many files in a row, each tried as often as can be, a server
// may be out of reach before it is taken to be gone.
const patience = 3

// passes are how often the captures are listed: those that were renamed under our
// hands are found again.
const passes = 3

// Collect goes on until everything is here, or ctx ends. The manifest is also in
// the folder, unless that can't be written. The error says what its Error says.
//
// A call to a disk that hangs can't be given up: Collect then returns late.
func (c *Collector) Collect(ctx context.Context) (*Manifest, error) {
	n, err := c.open()
	if err != nil {
		return &Manifest{Address: c.Client.Address(), State: Failed, Error: c.text(err), Containers: []string{}, Files: []File{}}, err
	}
	defer n.lock.Close()
	n.run(ctx)
	return n.end(ctx)
}

// A collection is one Collect.
type collection struct {
	*Collector
	lock     *os.File // the folder
	manifest *Manifest
	gone     []File         // were in the manifest and are not in the folder as they were
	next     map[string]int // the number behind each container's last
	errs     []error
	saved    time.Time // when a file was last put into the manifest
	silent   int       // files in a row for which the server could not be reached
	full     int64     // a file of this size did not fit on the disk; 0: all did
	done     int64
	total    int64
}

var errUnfinished = errors.New("not finished")

// open reads what there is, and says so in the manifest before anything is done.
func (c *Collector) open() (*collection, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder %q: %w", c.Dir, bare(err))
	}
	lock, err := os.Open(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder %q: %w", c.Dir, bare(err))
	}
	n := &collection{Collector: c, lock: lock}
	if err := n.begin(); err != nil {
		lock.Close()
		return nil, err
	}
	return n, nil
}

func (n *collection) begin() error {
	if err := syscall.Flock(int(n.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == syscall.EWOULDBLOCK {
		return fmt.Errorf("the folder %q is being written by another process", n.Dir)
	} else if err != nil {
		return fmt.Errorf("lock the folder %q: %w", n.Dir, err)
	}
	left, err := filepath.Glob(filepath.Join(quoteGlob(n.Dir), tempPattern)) // by one that was killed
	if err != nil {
		return err
	}
	for _, path := range left {
		os.Remove(path)
	}
	n.manifest, err = ReadManifest(n.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		n.manifest, err = &Manifest{}, nil
	}
	if err != nil {
		return err
	}
	n.next = make(map[string]int)
	for _, f := range n.manifest.Files {
		if number, ok := f.number(f.Name); ok {
			n.next[f.Container] = max(n.next[f.Container], number+1)
		}
	}
	n.manifest.Files = slices.DeleteFunc(n.manifest.Files, func(f File) bool {
		if f.Name != filepath.Base(f.Name) {
			return true // somebody else's doing: it leads elsewhere
		}
		info, err := os.Lstat(filepath.Join(n.Dir, f.Name))
		if err == nil && info.Mode().IsRegular() && info.Size() == f.Size {
			return false
		}
		n.gone = append(n.gone, f)
		return true
	})
	n.manifest.Address, n.manifest.Notes = n.Client.Address(), nil
	return n.save(errUnfinished)
}

// quoteGlob makes a path a pattern of itself.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// set says in the manifest where things stand.
func (n *collection) set(err error) {
	m := n.manifest
	m.State, m.Error = Collected, ""
	if err != nil {
		m.State, m.Error = Partial, n.text(err)
		if len(m.Files) == 0 {
			m.State = Failed
		}
	}
}

func (n *collection) save(err error) error {
	n.set(err)
	commit, _, err := n.manifest.prepare(n.Dir)
	if err == nil {
		err = commit()
	}
	if err != nil {
		return fmt.Errorf("save the manifest: %w", err)
	}
	return nil
}

// text is an error as a manifest has it.
func (c *Collector) text(err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	if t := c.Client.config.Token; t != "" {
		s = strings.ReplaceAll(s, t, "<token>")
	}
	return short(s, maxManifestError)
}

// end saves the manifest as it is to stay.
func (n *collection) end(ctx context.Context) (*Manifest, error) {
	err := summary(n.errs)
	if ctx.Err() != nil {
		err = because(context.Cause(ctx), err)
	}
	if saved := n.save(err); saved != nil {
		err = errors.Join(err, saved)
		n.set(err)
	}
	return n.manifest, err
}

// because is why a collection was broken off, and what had failed by then.
func because(cause, err error) error {
	if err == nil {
		return cause
	}
	return fmt.Errorf("%w; %w", cause, err)
}

// summary is the first error, and how many there are behind it.
func summary(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
}

// run brings in all that there is.
func (n *collection) run(ctx context.Context) {
	card, err := n.Client.Card(ctx)
	if err != nil {
		n.failed(ctx, err)
		return
	}
	captures, log := card.Method(URI, "list") != nil, hasHAR(card)
	if !captures && !log {
		n.failed(ctx, errNothing{n.Client.Address()})
		return
	}
	if captures {
		n.captures(ctx, card)
	}
	if log && ctx.Err() == nil && n.silent < patience {
		n.har(ctx, card)
	}
}

// captures brings in all of them. What is not there any more when it is asked for
// was overwritten, or has another name by now.
func (n *collection) captures(ctx context.Context, card *Card) {
	done := make(map[string]bool)
	for pass := range passes {
		listed, err := n.Client.List(ctx, card)
		if err != nil {
			n.failed(ctx, err)
			return
		}
		gone := false
		for _, l := range listed {
			if pass == 0 {
				n.total += l.Bytes
			}
		}
		for _, l := range listed {
			if ctx.Err() != nil {
				return
			}
			if done[l.Name] {
				continue
			}
			err := n.capture(ctx, card, l)
			if isStatus(err, http.StatusNotFound) {
				gone = true
				n.note("%s was listed, and gone when it was asked for", quoted(l.Name))
				continue
			}
			done[l.Name] = true
			if err != nil {
				n.failed(ctx, fmt.Errorf("%s: %w", quoted(l.Name), err))
			}
			if !unreachable(err) {
				n.silent = 0
			} else if n.silent++; n.silent == patience {
				return
			}
		}
		if !gone {
			return
		}
	}
}

// failed notes why something is missing. What the end of ctx broke off is no
// failure of its own.
func (n *collection) failed(ctx context.Context, err error) {
	if ctx.Err() == nil || !errors.Is(err, context.Cause(ctx)) {
		n.errs = append(n.errs, err)
	}
}

func (n *collection) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !slices.Contains(n.manifest.Notes, s) && len(n.manifest.Notes) < maxNotes {
		n.manifest.Notes = append(n.manifest.Notes, s)
	}
}

const maxNotes = 100

// quoted is a server's name of something, fit for a line.
func quoted(name string) string { return strconv.QuoteToASCII(short(name, 100)) }

// capture brings in one.
func (n *collection) capture(ctx context.Context, card *Card, l capture.Capture) error {
	f := File{Container: l.Container, Capture: l.Name}
	if f.Container == "" { // of an older server
		f.Container, _, _ = strings.Cut(l.Name, ".pcap")
	}
	if !capture.ValidName(f.Container) || len(f.Container) > maxContainer {
		return badAnswer{fmt.Errorf("its container's name %s is none", quoted(f.Container))}
	}
	if n.full > 0 && l.Bytes >= n.full {
		return &localError{fmt.Errorf("it is not asked for: %w", syscall.ENOSPC)}
	}
	before := n.done
	err := n.Client.retry(ctx, func() error {
		n.done = before
		d, err := n.Client.Get(ctx, card, l.Name)
		if err != nil {
			return err
		}
		defer d.Close()
		return n.store(d, f)
	})
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		n.full = max(l.Bytes, 1) // smaller ones may still fit
	}
	n.done = before + l.Bytes
	return err
}

const maxContainer = 200 // a file's name has 255 bytes

// har brings in the HAR of the network log.
func (n *collection) har(ctx context.Context, card *Card) {
	before := n.done
	err := n.Client.retry(ctx, func() error {
		n.done = before
		d, err := n.Client.HAR(ctx, card)
		if err != nil {
			return err
		}
		defer d.Close()
		return n.store(d, File{})
	})
	switch {
	case err == nil:
	case isStatus(err, http.StatusNotFound), errors.Is(err, errNoHAR):
		n.note("there is no network log yet")
	default:
		n.failed(ctx, fmt.Errorf("%s: %w", harName, err))
	}
}
