package trust

import (
	"errors"
	"testing"
)

func TestLookupUser(t *testing.T) {
	root := system(t, map[string]string{"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n\n# x\nshort:x:1\nbad:x:a:b::/:/bin/sh\nagent:x:1000:1001:An Agent,,:/home/agent:/bin/bash"})
	u, err := LookupUser(root, "agent")
	if err != nil || *u != (User{"agent", 1000, 1001, "/home/agent"}) {
		t.Errorf("%+v, %v", u, err)
	}
	for _, name := range []string{"", "bad", "short", "nobody", "agen"} {
		if u, err := LookupUser(root, name); !errors.Is(err, ErrNoUser) {
			t.Errorf("%q: %+v, %v", name, u, err)
		}
	}
	if _, err := LookupUser("", "root"); err != nil {
		t.Error(err)
	}
}
