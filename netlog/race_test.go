//go:build race

package netlog

const raceEnabled = true
