package cli

import "github.com/evalfarm/evalfarm/pkg/app"

// blobsEnv holds the address of a farm's blobs where no flag says it.
const blobsEnv = "EVALFARM_BLOBS"

// checkBlobs finds mistakes in the address of a folder or a bucket.
func checkBlobs(address string) error {
	if err := app.CheckBlobs(address); err != nil {
		return usage("", "--blobs: %s", err)
	}
	return nil
}
