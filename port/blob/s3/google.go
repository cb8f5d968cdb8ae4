package s3

import "cmp"

// Google's Cloud Storage answers tools of S3 that are given where it is, for gs://bucket. A region means nothing there. Keys for it are its HMAC keys, which stand
// where those of S3 do. Its front end changes the header Accept-Encoding of requests, which the client leaves out of their signatures.
const (
	googleScheme   = "gs"
	googleEndpoint = "https://storage.googleapis.com"
	googleRegion   = "auto"
)

// atGoogle fills in what the URI leaves open.
func (p *place) atGoogle() {
	p.endpoint = cmp.Or(p.endpoint, googleEndpoint)
	p.region = cmp.Or(p.region, googleRegion)
}
