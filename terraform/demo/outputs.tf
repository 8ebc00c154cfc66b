output "service" {
  description = "Identity of the running service."
  value       = terraform_data.service.id
}
