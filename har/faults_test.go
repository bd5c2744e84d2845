package har

import (
	"bytes"
	"fmt"
	"slices"
)

// ofTraffic are the readers whose rules what a browser sends and a server answers
// may break, however it is written down.
var ofTraffic = []string{"k6", "mitmproxy"}

// faults holds a HAR of ours against every rule that its traffic can't break.
func faults(b []byte) (list []string) {
	readers := slices.DeleteFunc(Readers(), func(name string) bool { return slices.Contains(ofTraffic, name) })
	stats, err := Check(bytes.NewReader(b), CheckOptions{Readers: readers, Fault: func(f Fault) error {
		if !f.Warning {
			list = append(list, fmt.Sprintf("entry %d (%s) %s: %s: %s", f.Entry, f.ID, f.Field, f.Rule, f.Text))
		}
		return nil
	}})
	if err != nil {
		list = append(list, err.Error())
	}
	if !stats.Ours {
		list = append(list, "it is not known as ours")
	}
	return list
}
