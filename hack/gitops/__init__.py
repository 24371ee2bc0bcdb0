"""What the GitOps tests need: Flux's and Argo CD's own programs, and the customizations that Argo CD reads."""
