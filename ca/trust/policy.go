package trust

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
)

// firefoxStore is Firefox's policy for the whole system: it reads the certificate
// at the start of each session.
func firefoxStore(a Authority) store {
	return store{name: "firefox", edits: []Edit{listEdit("/etc/firefox/policies/policies.json", a.Path, "policies", "Certificates", "Install")}}
}

// chromiumFolders are where Chromium and its kin look for managed policies.
var chromiumFolders = []string{"/etc/opt/chrome_for_testing", "/etc/chromium", "/etc/chromium-browser", "/etc/opt/chrome"}

const chromiumPolicy = "CACertificates"

// chromiumStore is the policy of Chromium's that lists authorities, which is the
// one way to a headless one. Of several files that have the list, Chromium takes the
// last one's by its name and no other.
func chromiumStore(j *Journal, a Authority) store {
	s := store{name: "chromium"}
	block, _ := pem.Decode(a.PEM)
	if block == nil {
		return store{name: "chromium", why: "the certificate is no PEM"}
	}
	value := base64.StdEncoding.EncodeToString(block.Bytes)
	for _, folder := range chromiumFolders {
		folder += "/policies/managed/"
		ours := a.Name + ".json"
		names := j.tree.list(folder)
		winner := ours
		var listed []string // what ours takes the place of
		for _, name := range names {
			doc, _, _ := j.tree.read(folder + name)
			list := stringList(doc, chromiumPolicy)
			switch {
			case list == nil || name == ours || !strings.HasSuffix(name, ".json"):
			case name < ours:
				listed = list
			default:
				winner = name
			}
		}
		file := j.changedIn(folder, names)
		if file == "" {
			file = winner
		}
		e := listEdit(folder+file, value, chromiumPolicy)
		if file == ours && len(listed) > 0 {
			add := e.Apply
			e.Apply = func(old []byte) ([]byte, error) {
				var err error
				for _, other := range listed {
					if old, err = addToList(old, other, chromiumPolicy); err != nil {
						return nil, err
					}
				}
				return add(old)
			}
		}
		s.edits = append(s.edits, e)
	}
	return s
}

// changedIn is which of a folder's files the journal has changed; "" for none.
func (j *Journal) changedIn(folder string, names []string) string {
	for _, name := range names {
		if j.record(folder+name) != nil {
			return name
		}
	}
	return ""
}

// listEdit adds a value to a list in a JSON file, made if need be.
func listEdit(path, value string, keys ...string) Edit {
	return Edit{
		Path:  path,
		Apply: func(old []byte) ([]byte, error) { return addToList(old, value, keys...) },
		Revert: func(now []byte) []byte {
			left, err := removeFromList(now, value, keys...)
			if err != nil { // it is no longer what we know: whose it is now mends it
				return now
			}
			return left
		},
	}
}

type object = map[string]json.RawMessage

var errNoObject = errors.New("it is no JSON object, or what should be a list in it is none: it stays as it is")

func addToList(doc []byte, value string, keys ...string) ([]byte, error) {
	if len(bytes.TrimSpace(doc)) == 0 {
		doc = []byte("{}")
	}
	changed, err := editList(doc, keys, func(list []json.RawMessage) []json.RawMessage {
		if contains(list, value) {
			return list
		}
		return append(list, encode(value))
	})
	if err != nil {
		return nil, err
	}
	return indent(changed), nil
}

// removeFromList takes the value out, and what is empty then; nil when nothing is
// left.
func removeFromList(doc []byte, value string, keys ...string) ([]byte, error) {
	changed, err := editList(doc, keys, func(list []json.RawMessage) []json.RawMessage {
		return slices.DeleteFunc(list, func(item json.RawMessage) bool { return is(item, value) })
	})
	if err != nil {
		return nil, err
	}
	if string(changed) == "{}" {
		return nil, nil
	}
	return indent(changed), nil
}

// editList changes the list at keys. Objects and lists that are empty then are left
// out.
func editList(doc json.RawMessage, keys []string, change func([]json.RawMessage) []json.RawMessage) (json.RawMessage, error) {
	var o object
	if json.Unmarshal(doc, &o) != nil || o == nil {
		return nil, errNoObject
	}
	inner := o[keys[0]]
	if len(keys) == 1 {
		var list []json.RawMessage
		if inner != nil && json.Unmarshal(inner, &list) != nil {
			return nil, errNoObject
		}
		list = change(list)
		if o[keys[0]] = encode(list); len(list) == 0 {
			delete(o, keys[0])
		}
		return encode(o), nil
	}
	if inner == nil {
		inner = json.RawMessage("{}")
	}
	inner, err := editList(inner, keys[1:], change)
	if err != nil {
		return nil, err
	}
	if o[keys[0]] = inner; string(inner) == "{}" {
		delete(o, keys[0])
	}
	return encode(o), nil
}

// stringList is the list of strings at a key; nil when there is none.
func stringList(doc []byte, key string) []string {
	var o object
	var list []string
	if json.Unmarshal(doc, &o) != nil || json.Unmarshal(o[key], &list) != nil {
		return nil
	}
	return list
}

func contains(list []json.RawMessage, value string) bool {
	return slices.ContainsFunc(list, func(item json.RawMessage) bool { return is(item, value) })
}

func is(item json.RawMessage, value string) bool {
	var s string
	return json.Unmarshal(item, &s) == nil && s == value
}

// encode is v as JSON, with characters such as < as they are.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings, lists and objects of what was decoded have no way to fail
	}
	return bytes.TrimSpace(b.Bytes())
}

func indent(doc []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return doc
	}
	b.WriteByte('\n')
	return b.Bytes()
}
