//go:build tools

// Package tools pins the kwok that simulates nodes on the local control plane.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
