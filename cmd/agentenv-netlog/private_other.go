//go:build !linux

package main

// keepPrivate is for Linux.
func keepPrivate() {}
