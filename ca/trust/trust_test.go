package trust

import (
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// block is a certificate in PEM; nothing here reads what is in it.
func block(content string) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(content)})
}

var authority = Authority{Name: "agentenv-sites", PEM: block("ours"), Path: "/etc/agentenv/sites/ca.pem"}

const journalFile = "/var/lib/agentenv/undo.json"

// system is a folder with some of a system's files.
func system(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	put(t, root, "etc/", "")
	for name, content := range files {
		put(t, root, name, content)
	}
	return root
}

func put(t *testing.T, root, name, content string) {
	t.Helper()
	p := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, "/") {
		err := os.MkdirAll(p, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(p, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

// snapshot is everything below a folder.
func snapshot(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		fmt.Fprintf(&b, "%v %s", info.Mode(), rel)
		if d.Type().IsRegular() {
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(content))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// in does work with the journal of a system, as a process of its own would.
func in(t *testing.T, root string, work func(*Journal)) {
	t.Helper()
	j, err := OpenJournal(root, journalFile)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	work(j)
}

func install(t *testing.T, root string, a Authority) []Placed {
	t.Helper()
	var placed []Placed
	in(t, root, func(j *Journal) { placed = Install(j, a) })
	for _, p := range placed {
		if p.Error != "" {
			t.Errorf("%+v", p)
		}
	}
	return placed
}

func uninstall(t *testing.T, root string, a Authority) {
	t.Helper()
	in(t, root, func(j *Journal) {
		for _, p := range Uninstall(j, a) {
			if p.Error != "" {
				t.Errorf("%+v", p)
			}
		}
		if err := j.Finish(); err != nil {
			t.Error(err)
		}
	})
}

func content(t *testing.T, root, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func TestInstallAndUninstall(t *testing.T) {
	const policies = `{"policies":{"DisableTelemetry":true,"Certificates":{"Install":["/etc/corp.pem"],"ImportEnterpriseRoots":false}},"x":1e3}`
	for name, files := range map[string]map[string]string{
		"debian": {"usr/local/share/ca-certificates/": "", "etc/ssl/certs/ca-certificates.crt": string(block("root"))},
		"debian with policies": {
			"usr/local/share/ca-certificates/corp.crt":        string(block("corp")),
			"etc/firefox/policies/policies.json":              policies,
			"etc/chromium/policies/managed/a.json":            `{"CACertificates":["AAAA"],"HomepageLocation":"https://corp.example/"}`,
			"etc/chromium-browser/policies/managed/z.json":    `{"CACertificates":["BBBB"]}`,
			"etc/opt/chrome/policies/managed/other.json":      `{"HomepageLocation":"x"}`,
			"etc/opt/chrome/policies/managed/broken.json.bak": `{"CACertificates":["CCCC"]}`,
		},
		"red hat": {"etc/pki/ca-trust/source/anchors/": "", "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem": string(block("root"))},
		"bare":    {"etc/": ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := system(t, files)
			before := snapshot(t, root)
			placed := install(t, root, authority)
			if len(placed) < 7 {
				t.Errorf("%+v", placed)
			}
			first := snapshot(t, root)
			switch name {
			case "debian":
				if content(t, root, "usr/local/share/ca-certificates/agentenv-sites.crt") != string(authority.PEM) {
					t.Error("not in the system's store")
				}
				if got := content(t, root, "etc/profile.d/agentenv-sites.sh"); !strings.Contains(got, "\nexport NODE_EXTRA_CA_CERTS=/etc/agentenv/sites/ca.pem\n") ||
					!strings.Contains(got, "\nexport REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt\nexport SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt\n") {
					t.Errorf("the environment: %s", got)
				}
				if got, want := content(t, root, "etc/firefox/policies/policies.json"), "{\n  \"policies\": {\n    \"Certificates\": {\n      \"Install\": [\n        \"/etc/agentenv/sites/ca.pem\"\n      ]\n    }\n  }\n}\n"; got != want {
					t.Errorf("Firefox's policies: %s", got)
				}
				for _, folder := range chromiumFolders {
					if got, want := content(t, root, folder+"/policies/managed/agentenv-sites.json"), "{\n  \"CACertificates\": [\n    \"b3Vycw==\"\n  ]\n}\n"; got != want {
						t.Errorf("%s: %s", folder, got)
					}
				}
			case "debian with policies":
				want := map[string]any{}
				json.Unmarshal([]byte(policies), &want)
				want["policies"].(map[string]any)["Certificates"].(map[string]any)["Install"] = []any{"/etc/corp.pem", authority.Path}
				got := map[string]any{}
				json.Unmarshal([]byte(content(t, root, "etc/firefox/policies/policies.json")), &got)
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("Firefox's policies are %v, want %v", got, want)
				}
				// Chromium takes the last list by its file's name.
				for file, want := range map[string][]string{
					"etc/chromium/policies/managed/agentenv-sites.json":   {"AAAA", "b3Vycw=="},
					"etc/chromium/policies/managed/a.json":                {"AAAA"},
					"etc/chromium-browser/policies/managed/z.json":        {"BBBB", "b3Vycw=="},
					"etc/opt/chrome/policies/managed/agentenv-sites.json": {"b3Vycw=="},
				} {
					if got := stringList([]byte(content(t, root, file)), chromiumPolicy); !slices.Equal(got, want) {
						t.Errorf("%s lists %q, want %q", file, got, want)
					}
				}
				if _, err := os.Stat(filepath.Join(root, "etc/chromium-browser/policies/managed/agentenv-sites.json")); err == nil {
					t.Error("a file that Chromium would not take was made")
				}
			case "red hat":
				if content(t, root, "etc/pki/ca-trust/source/anchors/agentenv-sites.pem") != string(authority.PEM) {
					t.Error("not in the system's store")
				}
				if got := content(t, root, "etc/profile.d/agentenv-sites.sh"); !strings.Contains(got, "SSL_CERT_FILE=/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem\n") {
					t.Errorf("the environment: %s", got)
				}
			case "bare":
				if placed[0].Store != "system" || placed[0].Skipped == "" {
					t.Errorf("%+v", placed[0])
				}
				if got := content(t, root, "etc/profile.d/agentenv-sites.sh"); strings.Contains(got, "SSL_CERT_FILE") {
					t.Errorf("the environment: %s", got)
				}
			}
			install(t, root, authority)
			if again := snapshot(t, root); again != first {
				t.Errorf("a second time makes\n%s\nof\n%s", again, first)
			}
			uninstall(t, root, authority)
			if after := snapshot(t, root); after != before {
				t.Errorf("afterwards there is\n%s\nand before was\n%s", after, before)
			}
			uninstall(t, root, authority) // and once more changes nothing
			if after := snapshot(t, root); after != before {
				t.Errorf("uninstalled twice:\n%s", after)
			}
		})
	}
}

// Two authorities, as of sites and of the proxy, are both trusted, whichever goes
// first.
func TestTwoAuthorities(t *testing.T) {
	other := Authority{Name: "agentenv-netlog", PEM: block("other"), Path: "/etc/agentenv/netlog.pem"}
	for _, firstOut := range []bool{true, false} {
		root := system(t, map[string]string{"usr/local/share/ca-certificates/": "", "var/lib/": ""})
		before := snapshot(t, root)
		journal := func(a Authority, work func(*Journal)) {
			t.Helper()
			j, err := OpenJournal(root, "/var/lib/"+a.Name+".json")
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			work(j)
		}
		for _, a := range []Authority{authority, other} {
			journal(a, func(j *Journal) { Install(j, a) })
		}
		file := "etc/chromium/policies/managed/agentenv-sites.json"
		if got := stringList([]byte(content(t, root, file)), chromiumPolicy); len(got) != 2 {
			t.Errorf("%q", got)
		}
		out := []Authority{authority, other}
		if !firstOut {
			slices.Reverse(out)
		}
		journal(out[0], func(j *Journal) { Uninstall(j, out[0]) })
		if got := stringList([]byte(content(t, root, file)), chromiumPolicy); len(got) != 1 {
			t.Errorf("one is out: %q", got)
		}
		journal(out[1], func(j *Journal) { Uninstall(j, out[1]) })
		for _, a := range out {
			journal(a, func(j *Journal) {
				if err := j.Finish(); err != nil {
					t.Error(err)
				}
			})
		}
		if after := snapshot(t, root); after != before {
			t.Errorf("afterwards there is\n%s\nand before was\n%s", after, before)
		}
	}
}

// What others have changed since is theirs.
func TestUninstallKeepsOthersChanges(t *testing.T) {
	root := system(t, map[string]string{"etc/firefox/policies/policies.json": `{"policies": {"A": 1}}`})
	install(t, root, authority)
	file := "etc/firefox/policies/policies.json"
	put(t, root, file, strings.Replace(content(t, root, file), `"A": 1`, `"A": 1, "B": "<&>"`, 1))
	managed := "etc/chromium/policies/managed/agentenv-sites.json"
	put(t, root, managed, strings.Replace(content(t, root, managed), `{`, `{"HomepageLocation": "x",`, 1))
	put(t, root, "etc/opt/chrome/policies/managed/new.json", "{}")
	put(t, root, "etc/profile.d/agentenv-sites.sh", "changed")
	uninstall(t, root, authority)
	if got := content(t, root, file); got != "{\n  \"policies\": {\n    \"A\": 1,\n    \"B\": \"<&>\"\n  }\n}\n" {
		t.Errorf("Firefox's policies: %s", got)
	}
	if got := content(t, root, managed); got != "{\n  \"HomepageLocation\": \"x\"\n}\n" {
		t.Errorf("Chromium's: %s", got)
	}
	for name, there := range map[string]bool{
		"etc/opt/chrome/policies/managed/new.json": true, "etc/opt/chrome/policies/managed/agentenv-sites.json": false,
		"etc/profile.d": false, "etc/chromium-browser": false, "var": false,
	} {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != there {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}
}

// A file that can't be read for what it should be stays as it is, and keeps
// nothing else from being done.
func TestInstallLeavesBrokenFiles(t *testing.T) {
	for _, broken := range []string{"{", "[]", `{"policies": 1}`, `{"policies": {"Certificates": {"Install": "x"}}}`} {
		root := system(t, map[string]string{"etc/firefox/policies/policies.json": broken})
		in(t, root, func(j *Journal) {
			for _, p := range Install(j, authority) {
				if (p.Error != "") != (p.Store == "firefox") {
					t.Errorf("%s: %+v", broken, p)
				}
			}
		})
		if got := content(t, root, "etc/firefox/policies/policies.json"); got != broken {
			t.Errorf("%s became %s", broken, got)
		}
		uninstall(t, root, authority)
		if got := content(t, root, "etc/firefox/policies/policies.json"); got != broken {
			t.Errorf("%s became %s", broken, got)
		}
	}
}

// No link leads out of the folder.
func TestLinksLeadNowhere(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "policies.json", "{}")
	root := system(t, map[string]string{"etc/firefox/policies/": ""})
	if err := os.Symlink(filepath.Join(outside, "policies.json"), filepath.Join(root, "etc/firefox/policies/policies.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "etc/chromium")); err != nil {
		t.Fatal(err)
	}
	in(t, root, func(j *Journal) { Install(j, authority) })
	if got := snapshot(t, outside); strings.Count(got, "\n") != 2 || content(t, outside, "policies.json") != "{}" {
		t.Errorf("outside there is now\n%s", got)
	}
}

// A file is rewritten in its place, as one that is mounted must be.
func TestInPlace(t *testing.T) {
	root := system(t, map[string]string{"f": "a longer content"})
	before, err := os.Stat(filepath.Join(root, "f"))
	if err != nil {
		t.Fatal(err)
	}
	edit := Edit{Path: "/f", Apply: func([]byte) ([]byte, error) { return []byte("short"), nil }, Revert: func(b []byte) []byte { return b }}
	in(t, root, func(j *Journal) {
		if err := j.Edit(edit); err != nil {
			t.Fatal(err)
		}
	})
	after, err := os.Stat(filepath.Join(root, "f"))
	if err != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() || content(t, root, "f") != "short" {
		t.Errorf("%v, %v", after, err)
	}
	if info, err := os.Stat(filepath.Join(root, journalFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the journal: %v, %v", info, err)
	}
}

func TestWithMissing(t *testing.T) {
	bundle := append(block("a"), block("b")...)
	other := append(append(block("b"), block("by hand")...), block("ours")...)
	got := withMissing(bundle, other, block("ours"))
	if want := string(append(append(block("a"), block("b")...), block("by hand")...)); string(got) != want {
		t.Errorf("%s", got)
	}
}

func TestNSS(t *testing.T) {
	if _, err := exec.LookPath("certutil"); err != nil {
		t.Skip("certutil is not installed")
	}
	pemFile := realCertificate(t)
	a := authority
	a.PEM = pemFile
	a.User = &User{Name: "agent", UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Home: "/home/agent"}
	for _, existing := range []string{"", ".pki/nssdb", ".local/share/pki/nssdb"} {
		root := system(t, map[string]string{"home/agent/": "", "usr/local/share/ca-certificates/": ""})
		folder := existing
		if folder == "" {
			folder = ".pki/nssdb"
		}
		at := filepath.Join(root, "home/agent", folder)
		if existing != "" {
			if err := os.MkdirAll(at, 0o700); err != nil {
				t.Fatal(err)
			}
			run(t, "certutil", "-d", "sql:"+at, "-N", "--empty-password")
		}
		before := snapshot(t, root)
		install(t, root, a)
		if got := run(t, "certutil", "-d", "sql:"+at, "-L"); !strings.Contains(got, "agentenv-sites") || !strings.Contains(got, "C,,") {
			t.Errorf("%q: %s", existing, got)
		}
		install(t, root, a)
		uninstall(t, root, a)
		if existing == "" {
			if after := snapshot(t, root); after != before {
				t.Errorf("afterwards there is\n%s\nand before was\n%s", after, before)
			}
		} else if got := run(t, "certutil", "-d", "sql:"+at, "-L"); strings.Contains(got, "agentenv-sites") {
			t.Errorf("%q: %s", existing, got)
		}
	}
	// A database that was made and then came to be used stays.
	root := system(t, map[string]string{"home/agent/": ""})
	at := filepath.Join(root, "home/agent/.pki/nssdb")
	install(t, root, a)
	command := exec.Command("certutil", "-d", "sql:"+at, "-A", "-a", "-t", "C,,", "-n", "the user's own")
	command.Stdin = strings.NewReader(string(realCertificate(t)))
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	uninstall(t, root, a)
	if got := run(t, "certutil", "-d", "sql:"+at, "-L"); strings.Contains(got, "agentenv-sites") || !strings.Contains(got, "the user's own") {
		t.Errorf("%s", got)
	}
}

// A database that no longer has the certificate is done with, and one that can't be
// changed now is gone after all when it can.
func TestNSSOnceMore(t *testing.T) {
	if _, err := exec.LookPath("certutil"); err != nil {
		t.Skip("certutil is not installed")
	}
	a := authority
	a.PEM = realCertificate(t)
	a.User = &User{Name: "agent", UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Home: "/home/agent"}
	root := system(t, map[string]string{"home/agent/": ""})
	at := filepath.Join(root, "home/agent/.pki/nssdb")
	before := snapshot(t, root)

	install(t, root, a)
	run(t, "certutil", "-d", "sql:"+at, "-D", "-n", a.Name)
	uninstall(t, root, a)
	if after := snapshot(t, root); after != before {
		t.Errorf("afterwards there is\n%s\nand before was\n%s", after, before)
	}

	install(t, root, a)
	whole := content(t, at, "cert9.db")
	put(t, at, "cert9.db", "spoilt for a while")
	in(t, root, func(j *Journal) {
		if placed := Uninstall(j, a); !slices.ContainsFunc(placed, func(p Placed) bool { return p.Error != "" }) {
			t.Errorf("%+v", placed)
		}
	})
	put(t, at, "cert9.db", whole)
	uninstall(t, root, a)
	if after := snapshot(t, root); after != before {
		t.Errorf("afterwards there is\n%s\nand before was\n%s", after, before)
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}
