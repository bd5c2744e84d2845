package ca

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "folder")
	a, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{
		dir:                                 fs.ModeDir | 0o700,
		filepath.Join(dir, keyFile):         0o600,
		filepath.Join(dir, certificateFile): 0o644,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
	}
	c := a.Certificate
	if !c.IsCA || !c.MaxPathLenZero || c.SerialNumber.Sign() <= 0 {
		t.Errorf("IsCA %v, MaxPathLenZero %v, serial %v", c.IsCA, c.MaxPathLenZero, c.SerialNumber)
	}
	if !bytes.Equal(c.SubjectKeyId, c.AuthorityKeyId) || len(c.SubjectKeyId) != 20 {
		t.Errorf("SKI %x, AKI %x", c.SubjectKeyId, c.AuthorityKeyId)
	}
	if now := time.Now(); now.Sub(c.NotBefore) < 24*time.Hour || c.NotAfter.Before(now.AddDate(9, 0, 0)) {
		t.Errorf("valid from %v to %v", c.NotBefore, c.NotAfter)
	}
	if got := readAll(t, a.CertificatePath()); !bytes.Equal(got, a.CertificatePEM()) {
		t.Errorf("CertificatePEM is not what %s holds", a.CertificatePath())
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("the folder holds %v, want two files", entries)
	}
	other, err := Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(other.Certificate.RawSubject, c.RawSubject) {
		t.Errorf("two authorities are both called %q", c.Subject)
	}
}

func TestCreateNeverReplaces(t *testing.T) {
	whole := t.TempDir()
	if _, err := Create(whole); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"whole":            whole,
		"certificate only": folder(t, []byte("the user's"), nil),
		"key only":         folder(t, nil, []byte("the user's")),
	} {
		t.Run(name, func(t *testing.T) {
			before := contents(t, dir)
			if _, err := Create(dir); !errors.Is(err, fs.ErrExist) {
				t.Errorf("error %v, want fs.ErrExist", err)
			} else if !strings.Contains(err.Error(), filepath.Join(dir, "ca")) || strings.Contains(err.Error(), ".new-") {
				t.Errorf("error %v, which does not name the file that is there", err)
			}
			if after := contents(t, dir); before != after {
				t.Errorf("the folder held\n%s\nand now\n%s", before, after)
			}
		})
	}
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, e := range entries {
		b.WriteString(e.Name() + "\n")
		b.Write(readAll(t, filepath.Join(dir, e.Name())))
	}
	return b.String()
}

func TestCreateAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	const processes = 16
	var (
		wg      sync.WaitGroup
		got     [processes]*Authority
		created [processes]bool
		errs    [processes]error
	)
	for i := range processes {
		wg.Go(func() { got[i], created[i], errs[i] = LoadOrCreate(dir) })
	}
	wg.Wait()
	makers := 0
	for i := range processes {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if !got[i].Certificate.Equal(got[0].Certificate) {
			t.Errorf("%d and 0 have different authorities", i)
		}
		if created[i] {
			makers++
		}
	}
	if makers != 1 {
		t.Errorf("%d say that they created it, want 1", makers)
	}
}

// Create's only moment in between is after the key's name and before the
// certificate's.
func TestCrashWhileCreating(t *testing.T) {
	dir := t.TempDir()
	first, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(first.CertificatePath()); err != nil {
		t.Fatal(err)
	}
	again, created, err := LoadOrCreate(dir)
	if err != nil || created {
		t.Fatalf("created %v, error %v", created, err)
	}
	if !again.Certificate.Equal(first.Certificate) {
		t.Error("another authority came back")
	}
	if block, _ := pem.Decode(readAll(t, first.CertificatePath())); block == nil || !bytes.Equal(block.Bytes, first.Certificate.Raw) {
		t.Error("ca.pem was not restored")
	}
}

func TestCreateWhereNoFolderCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if _, _, err := LoadOrCreate(dir); err == nil {
			t.Errorf("%s: no error", dir)
		}
	}
}
