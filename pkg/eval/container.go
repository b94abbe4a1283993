package eval

// A Container says how a server runs in a container of its own, which docker or
// podman starts for it. The zero value means that it runs in none.
type Container struct {
	// Image is the reference of the image, best with its digest.
	Image string `json:"image,omitempty"`
	// Mounts are files and folders of the worker's machine inside the container.
	Mounts []Mount `json:"mounts,omitempty"`
	// Network is NetworkNone, or the name of a network of the engine. Empty means
	// NetworkNone.
	Network string `json:"network,omitempty"`
	// Memory is the most that the container may use, as in "512m". Empty means as
	// much as there is.
	Memory string `json:"memory,omitempty"`
	// CPUs is how many processors the container may keep busy. Zero means all.
	CPUs float64 `json:"cpus,omitempty"`
	// User inside the container, as USER or USER:GROUP, names or numbers. Empty
	// means what the image says.
	User string `json:"user,omitempty"`
	// Pull says when the image is fetched. Empty means PullMissing.
	Pull Pull `json:"pull,omitempty"`
}

// NetworkNone leaves a container alone with its own loopback.
const NetworkNone = "none"

// A Mount is a file or folder of the worker's machine at a path in a container.
type Mount struct {
	// Source is absolute or relative to the folder of the suite file.
	Source string `json:"source"`
	// Target is the absolute path in the container.
	Target string `json:"target"`
	// Writable lets the server change what is there.
	Writable bool `json:"writable,omitempty"`
}

// Pull says when an image is fetched from its registry.
type Pull string

const (
	// PullMissing fetches an image that the worker's machine does not have.
	PullMissing Pull = "missing"
	// PullAlways fetches the image before its first start in a run, on each worker.
	PullAlways Pull = "always"
	// PullNever fetches nothing: an image that is missing is an error.
	PullNever Pull = "never"
)
