package client_test

func runOwner([]string) {}
