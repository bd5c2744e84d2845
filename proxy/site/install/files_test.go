package install

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

var loopback = netip.MustParseAddr("127.0.0.1")

// Every file that was is the same again, in one go and in two.
func TestBlocksAreTakenOut(t *testing.T) {
	for _, file := range []string{
		"", "\n", "127.0.0.1 localhost", "127.0.0.1 localhost\n", "127.0.0.1 localhost\n\n", "a\r\nb\r\n", "# agentenv sites\nnot ours: it has no end\n",
		"nameserver 192.0.2.1", "search x\nnameserver 192.0.2.1\nnameserver ::1\noptions edns0\n", "  nameserver\t192.0.2.1\n# nameserver 1\n",
	} {
		for name, edit := range map[string]func() (apply func([]byte) ([]byte, error), revert func([]byte) []byte){
			"hosts": func() (func([]byte) ([]byte, error), func([]byte) []byte) {
				e := hostsEdit([]string{"notes.test", "www.notes.test"}, loopback)
				return e.Apply, e.Revert
			},
			"resolv.conf": func() (func([]byte) ([]byte, error), func([]byte) []byte) {
				e := resolvEdit(loopback)
				return e.Apply, e.Revert
			},
		} {
			apply, revert := edit()
			once, _ := apply([]byte(file))
			if got := string(revert(once)); got != file {
				t.Errorf("%s: %q became %q and then %q", name, file, once, got)
			}
			if twice, _ := apply(once); string(twice) != string(once) {
				t.Errorf("%s: a second time makes %q of %q", name, twice, once)
			}
			if after := string(revert(append([]byte("added first\n"), once...))); after != "added first\n"+file {
				t.Errorf("%s: what others added: %q", name, after)
			}
		}
	}
}

func TestHosts(t *testing.T) {
	got, _ := hostsEdit([]string{"notes.test", "plain.localhost"}, loopback).Apply([]byte("::1 ip6\n"))
	const want = "::1 ip6\n# agentenv sites\n127.0.0.1 notes.test\n127.0.0.1 plain.localhost\n# end agentenv sites\n"
	if string(got) != want {
		t.Errorf("%q", got)
	}
	conflicts := hostsConflicts([]byte("127.0.0.1 notes.test\n10.0.0.1 a Notes.test # b.test\n#10.0.0.1 b.test\n# agentenv sites\n127.0.0.2 b.test\n# end agentenv sites\n"), []string{"notes.test", "b.test"}, loopback)
	if s := fmt.Sprint(conflicts); s != `[/etc/hosts: "Notes.test" is at 10.0.0.1 there]` {
		t.Errorf("%s", s)
	}
}

func TestResolvConf(t *testing.T) {
	const before = "search corp.example\nnameserver 192.0.2.1\nnameserver 2001:db8::1\nnameserver fe80::1%eth0\nnameserver x\nnameserver 127.0.0.1\n"
	got, _ := resolvEdit(loopback).Apply([]byte(before))
	const want = "search corp.example\n# agentenv sites: nameserver 192.0.2.1\n# agentenv sites: nameserver 2001:db8::1\n# agentenv sites: nameserver fe80::1%eth0\n" +
		"# agentenv sites: nameserver x\n# agentenv sites: nameserver 127.0.0.1\n# agentenv sites\nnameserver 127.0.0.1\n# end agentenv sites\n"
	if string(got) != want {
		t.Errorf("%q", got)
	}
	for _, file := range []string{before, want} {
		if s := fmt.Sprint(nameservers([]byte(file), loopback)); s != "[192.0.2.1:53 [2001:db8::1]:53 [fe80::1%eth0]:53]" {
			t.Errorf("%s of %q", s, file)
		}
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add("127.0.0.1 localhost\n")
	f.Add("# agentenv sites\n# end agentenv sites")
	f.Add("nameserver 192.0.2.1\n\n")
	f.Fuzz(func(t *testing.T, file string) {
		if strings.Contains(file, blockBegin) { // what is ours already is another's no more
			return
		}
		for _, e := range []func([]byte) ([]byte, error){hostsEdit([]string{"a.test"}, loopback).Apply, resolvEdit(loopback).Apply} {
			once, _ := e([]byte(file))
			if got := plainResolv(once); string(got) != file {
				t.Errorf("%q became %q and then %q", file, once, got)
			}
		}
	})
}
