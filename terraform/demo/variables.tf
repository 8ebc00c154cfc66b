variable "replicas" {
  description = "Copies of the service. A change updates it in place."
  type        = number
  default     = 2

  validation {
    condition     = var.replicas >= 1 && var.replicas <= 10
    error_message = "The service runs in 1 to 10 copies."
  }
}
