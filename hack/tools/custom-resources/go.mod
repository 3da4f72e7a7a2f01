module stromboli.local/tools/custom-resources

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.19.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
