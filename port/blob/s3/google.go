package s3

import (
	"context"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Google's Cloud Storage answers tools of S3, who are told gs://bucket: where it is, and that a region is none of its matters. Keys for it are its HMAC keys, which stand
// where those of S3 do.
const (
	googleScheme   = "gs"
	googleEndpoint = "https://storage.googleapis.com"
	googleRegion   = "auto"
)

// atGoogle fills in what the URI leaves open.
func (p *place) atGoogle() {
	if p.endpoint == "" {
		p.endpoint = googleEndpoint
	}
	if p.region == "" {
		p.region = googleRegion
	}
}

// unsigned is the header that Google's front end changes on its way, so that a signature over it would not hold.
const unsigned = "Accept-Encoding"

// leaveUnsigned takes the header off while a request is signed.
func leaveUnsigned(stack *middleware.Stack) error {
	var value string // one stack is made for each call, and its attempts follow each other
	before := middleware.FinalizeMiddlewareFunc("TakeUnsigned", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		if r, ok := in.Request.(*smithyhttp.Request); ok {
			value = r.Header.Get(unsigned)
			r.Header.Del(unsigned)
		}
		return next.HandleFinalize(ctx, in)
	})
	after := middleware.FinalizeMiddlewareFunc("PutUnsigned", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		if r, ok := in.Request.(*smithyhttp.Request); ok && value != "" {
			r.Header.Set(unsigned, value)
		}
		return next.HandleFinalize(ctx, in)
	})
	if err := stack.Finalize.Insert(before, "Signing", middleware.Before); err != nil {
		return err
	}
	return stack.Finalize.Insert(after, "Signing", middleware.After)
}
