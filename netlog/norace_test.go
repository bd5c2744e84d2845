//go:build !race

package netlog

const raceEnabled = false
