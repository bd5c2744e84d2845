package e2e

func validate([]byte) error { return nil }
