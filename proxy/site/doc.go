// Package site routes browsers to websites by name: a browser opens
// https://notes.test/ and gets what a gateway serves at
// http://gateway:8080/website/notes/, with TLS that it trusts, while every other
// host is where the computer's network has it.
//
//	config, err := site.ReadConfig(file)
//	table, err := site.NewTable(config)
//	certificates, err := site.NewCertificates(config, table, time.Now())
//	ports, err := site.Listen(config, table)
//	server, err := site.NewServer(site.ServerConfig{Table: table, …}, ports)
//	err = server.Serve()
//
// A site's requests go up under its route's path, with the gateway's Host and
// fields that say what the browser asked for; Location and Set-Cookie come back
// under the site's own name. Names that are wildcards are found by its resolver,
// which passes every other question on. All that passes is recorded by package
// proxy: what the browser sent, and what it got.
//
// The package changes nothing on the computer and drops no privileges: that is
// package install's.
package site
