package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func gits() []client {
	return []client{{
		name: "git",
		run:  clones,
		asks: []string{
			"GET https://{tls}/git/parcel.git/info/refs?service=git-upload-pack 200",
			"POST https://{tls}/git/parcel.git/git-upload-pack 200",
			"POST https://{tls}/git/parcel.git/git-receive-pack 200",
			"GET http://{plain}/git/parcel.git/info/refs?service=git-upload-pack 200",
		},
	}}
}

// clones clones a repository, pushes to it in chunks, and clones it once more
// without TLS.
func clones(s *session) {
	git := need(s.t, "git")
	root := filepath.Join(filepath.Dir(s.home), "git")
	repository := filepath.Join(root, "parcel.git")
	source := filepath.Join(root, "source")
	write(s.t, filepath.Join(s.home, ".gitconfig"), []byte("[user]\n\tname = Tester\n\temail = tester@localhost\n[init]\n\tdefaultBranch = main\n[http]\n\tpostBuffer = 65536\n"))
	s.do(git, "init", "--quiet", "--bare", repository)
	s.do(git, "-C", repository, "config", "http.receivepack", "true")
	s.do(git, "init", "--quiet", source)
	for i := range 40 {
		write(s.t, filepath.Join(source, fmt.Sprint("folder ", i%5), fmt.Sprintf("file-%d.txt", i)), pattern(i*5000+i))
	}
	s.do(git, "-C", source, "add", ".")
	s.do(git, "-C", source, "commit", "--quiet", "-m", "first")
	s.do(git, "-C", source, "push", "--quiet", repository, "main")

	s.do(git, "clone", "--quiet", "https://{tls}/git/parcel.git", "{home}/clone")
	equalTrees(s.t, source, filepath.Join(s.home, "clone"))
	noise := make([]byte, 400_000) // that no compression shortens below the post buffer
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	write(s.t, filepath.Join(s.home, "clone", "noise.bin"), noise)
	s.do(git, "-C", "{home}/clone", "add", ".")
	s.do(git, "-C", "{home}/clone", "commit", "--quiet", "-m", "second")
	s.do(git, "-C", "{home}/clone", "push", "--quiet", "origin", "main")
	s.do(git, "clone", "--quiet", "http://{plain}/git/parcel.git", "{home}/again")
	equalTrees(s.t, filepath.Join(s.home, "clone"), filepath.Join(s.home, "again"))
	s.do(git, "-C", "{home}/again", "fsck", "--full", "--strict")
}

// equalTrees compares the files of two work trees.
func equalTrees(t *testing.T, want, got string) {
	t.Helper()
	tally(t, want, files(t, want), got, files(t, got))
}

// files are a folder's files, each with its hash.
func files(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			name, _ := filepath.Rel(root, path)
			all = append(all, name+" "+sum(contentOf(t, path)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
