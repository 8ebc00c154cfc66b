variable "namespace" {
  description = "Namespace of the demo application."
  type        = string
  default     = "demo-app"
}

variable "replicas" {
  description = "Copies of the application. A change updates it in place."
  type        = number
  default     = 1
}

variable "image" {
  description = "Image of the application."
  type        = string
  default     = "localhost/ownergate-demo:latest"
}
