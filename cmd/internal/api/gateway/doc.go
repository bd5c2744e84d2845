// Package gateway has websites under the one address of a server: a browser
// finds the site notes at /website/notes/, and whoever is in control of the env
// finds it at /svc/notes/, with all that the site keeps from browsers.
//
//	site, err := gateway.ParseSite("notes=http://notes:8000")
//	g := gateway.New(gateway.Config{Sites: []gateway.Site{site}, Logger: logger})
//	defer g.Close()
//
// A [Gateway] is an http.Handler of both routes. It does not ask who may use the
// second one: whoever mounts it does, and [Gateway.IsCard] says what is open
// there too. [Gateway.Cards] are the sites' own cards, for the server's.
//
// What comes back is the site's, byte for byte as far as net/http has it: header
// fields keep their values, their repeats and the order of these, not the order
// among names; bodies are passed on as they come. What goes up has the target as
// it was sent, to the byte. Nothing is cached, and nothing rewritten but a Location
// that names the address that the site has here.
//
// A target with a malformed escape in its path never gets here: net/http refuses
// it.
package gateway
