/*
SQLyog Ultimate v11.11 (64 bit)
MySQL - 5.7.22-log : Database - shop
*********
*/

/*!40101 SET NAMES utf8 */;

/*!40101 SET SQL_MODE=''*/;
CREATE DATABASE /*!32312 IF NOT EXISTS*/`shop` /*!40100 DEFAULT CHARACTER SET latin1 */;

USE `shop`;

DROP TABLE IF EXISTS `t`;

CREATE TABLE `t` (
  `id` int(11) NOT NULL
) ENGINE=InnoDB;

/*Data for the table `t` */

insert  into `t`(`id`) values (1),(2);
